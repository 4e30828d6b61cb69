"""What the recordings of a sealed run show, with and without those of the reference solution."""

import ast
import operator
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from unittest import mock

import pytest

import agentbench
from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.sealing.canonical import (
    Group,
    Instance,
    Leaf,
    Recording,
    Unreadable,
    of_python,
)
from agentbench.integrity.sealing.inheritance import Inheritance
from agentbench.integrity.sealing.memory import SealedMemory, SealedReference, reference_run
from agentbench.integrity.sealing.plan import SealedOutcome, SealedPlan
from agentbench.scoring.evidence import NodeId
from tests.integrity.sealing.recorded import recorded


def plan(body: str, *tests: str, reference: SealedReference | None = None) -> SealedPlan:
    text = "import pytest\nfrom shop import parse, pool\n" + dedent(body)
    ids = tuple(NodeId(f"test_it.py::{test}") for test in tests or ("test_it",))
    files = {"test_it.py": text.encode()}
    known = reference or SealedReference()
    return SealedPlan(ControlledTests(files=files, fixed=ids, passing=()), 1, known)


def outcome(by_test: dict[str, list[Recording]], *, failed: tuple[str, ...] = ()) -> SealedOutcome:
    """A run in which tests recorded something; they passed, unless they failed."""
    found = {NodeId(f"test_it.py::{test}"): tuple(made) for test, made in by_test.items()}
    passed = frozenset(test for test in found if test.partition("::")[2] not in failed)
    return SealedOutcome(passed=passed, ended=frozenset(found), recordings=found)


def values(site: int, *found: object) -> Recording:
    return Recording(site, tuple(map(of_python, found)))


def token(number: int) -> Group:
    return Group("token", (Leaf("int", number),))


def referenced(*runs: SealedOutcome) -> SealedReference:
    return SealedReference(
        seal="x", runs=tuple(reference_run(run.passed, run.recordings) for run in runs)
    )


EQUAL = "def test_it():\n    assert parse('a') == 61\n"
IT = NodeId("test_it.py::test_it")


def test_right_value_is_sealed_without_a_reference():
    judged = plan(EQUAL).judge(outcome({"test_it": [values(1, 61)]}), SealedReference())
    assert (judged.mismatches, judged.sealed, judged.values) == ((), {IT}, 1)


@pytest.mark.parametrize("found", [60, "61", [61], None, True])
def test_wrong_value_is_reported_with_the_expected_one(found):
    judged = plan(EQUAL).judge(outcome({"test_it": [values(1, found)]}), SealedReference())
    (mismatch,) = judged.mismatches
    assert (mismatch.line, mismatch.assertion) == (4, "assert parse('a') == 61")
    assert (mismatch.expected, mismatch.actual) == ("61", repr(found))
    assert judged.sealed == frozenset()


def test_wrong_number_of_queries_differs():
    body = "class T(Base):\n    def test_it(self):\n        self.assertNumQueries(7, parse)\n"
    planned, test = plan(body, "T::test_it"), NodeId("test_it.py::T::test_it")
    right = planned.judge(outcome({"T::test_it": [values(1, 7)]}), SealedReference())
    assert right.sealed == {test}
    wrong = planned.judge(outcome({"T::test_it": [values(1, 8)]}), SealedReference())
    assert [(one.expected, one.actual) for one in wrong.mismatches] == [("7", "8")]


def test_object_that_says_nothing_differs_from_a_literal():
    own = Recording(1, (Instance("object", ("shop.Any",)),))
    judged = plan(EQUAL).judge(outcome({"test_it": [own]}), SealedReference())
    assert judged.differing == {IT}


def test_test_that_recorded_nothing_differs():
    judged = plan(EQUAL).judge(outcome({"test_it": []}), SealedReference())
    assert judged.differing == {IT}


def test_test_that_fails_differs_only_if_the_reference_passes_it():
    failed = outcome({"test_it": []}, failed=("test_it",))
    assert plan(EQUAL).judge(failed, SealedReference()).differing == frozenset()
    right = referenced(outcome({"test_it": [values(1, 61)]}))
    assert plan(EQUAL).judge(failed, right).differing == {IT}
    judged = plan(EQUAL).judge(failed, referenced(failed))
    assert judged.differing == frozenset()
    assert judged.unsealed[IT].startswith("the reference solution does not pass it")


def test_few_possible_values_are_not_sealed():
    body = "def test_it():\n    assert parse('a') is True\n    assert not pool()\n"
    found = outcome({"test_it": [values(1, True), values(2, [])]})
    judged = plan(body).judge(found, SealedReference())
    assert judged.mismatches == ()
    assert judged.unsealed == {IT: "line 4: its values are few enough to be guessed"}


def test_few_possible_values_of_a_variable_are_not_sealed():
    body = "def test_it():\n    want = True\n    assert parse('a') == want\n"
    judged = plan(body).judge(outcome({"test_it": [values(1, True)]}), SealedReference())
    assert judged.unsealed == {IT: "line 5: its values are few enough to be guessed"}


TABLE = """
@pytest.mark.parametrize("source, expected", [("a", "sixty"), ("b", "seventy")])
def test_it(source, expected):
    assert parse(source) == expected
"""
A, B = "test_it[a-sixty]", "test_it[b-seventy]"


def recorded_table(
    first: object, second: object, tokens: tuple[int, int] = (1, 2)
) -> SealedOutcome:
    return outcome(
        {
            name: [Recording(1, (of_python(value), token(number)))]
            for name, value, number in zip((A, B), (first, second), tokens, strict=True)
        }
    )


def test_token_says_which_value_of_a_table_is_expected():
    reference = referenced(recorded_table("sixty", "seventy"))
    right = plan(TABLE, A, B).judge(recorded_table("sixty", "seventy"), reference)
    assert right.sealed == {f"test_it.py::{A}", f"test_it.py::{B}"}
    wrong = plan(TABLE, A, B).judge(recorded_table("sixty", "sixty"), reference)
    assert wrong.differing == {f"test_it.py::{B}"}
    assert wrong.mismatches[0].expected == "expected with expected = 'seventy'"


def test_token_of_another_row_does_not_help():
    reference = referenced(recorded_table("sixty", "seventy"))
    forged = recorded_table("sixty", "sixty", tokens=(1, 1))
    assert plan(TABLE, A, B).judge(forged, reference).differing == {f"test_it.py::{B}"}
    assert plan(TABLE, A, B).judge(forged, SealedReference()).sealed == frozenset()


def test_fewer_recordings_than_the_reference_has_differ():
    body = "def test_it():\n    for x in pool():\n        assert parse(x) == 61\n"
    reference = referenced(outcome({"test_it": [values(1, 61), values(1, 61)]}))
    judged = plan(body).judge(outcome({"test_it": [values(1, 61)]}), reference)
    assert judged.mismatches[0].expected == "2 recordings"


def test_value_without_an_expected_text_is_compared_with_the_reference():
    body = (
        "from shop import DEFAULT, Thing\ndef test_it():\n    assert parse('a') == Thing.make(6)\n"
    )
    body = body.replace("Thing.make(6)", "DEFAULT")
    reference = referenced(outcome({"test_it": [values(1, [6, 1])]}))
    same = plan(body).judge(outcome({"test_it": [values(1, [6, 1])]}), reference)
    assert (same.mismatches, same.sealed) == ((), {IT})
    other = plan(body).judge(outcome({"test_it": [values(1, [6, 2])]}), reference)
    assert other.differing == {IT}


def test_unstable_parts_of_the_reference_are_ignored():
    body = "from shop import DEFAULT\ndef test_it():\n    assert parse('a') == DEFAULT\n"
    runs = [outcome({"test_it": [values(1, number)]}) for number in (10.5, 11.5)]
    judged = plan(body).judge(outcome({"test_it": [values(1, 99.5)]}), referenced(*runs))
    assert judged.mismatches == ()
    assert judged.sealed == frozenset()  # nor does it control anything


@pytest.mark.parametrize(
    ("of_reference", "of_attempt", "is_right"),
    [("test_a1", "test_a1", True), ("test_a1", "it", False), ("test_it", "test_a1", False)],
)
def test_name_that_the_seal_changed_is_no_wrong_value(of_reference, of_attempt, is_right):
    planned = plan("def test_it():\n    for x in pool():\n        assert parse(x) == x.name\n")

    def run(name: str) -> SealedOutcome:
        return outcome({"test_it": [values(1, "x", "x"), values(1, name, "test_it")]})

    judged = planned.judge(run(of_attempt), referenced(run(of_reference)))

    assert (judged.mismatches == ()) is is_right


ANY_ORDER = "def test_it(self):\n    self.assertCountEqual(pool(), {})\n"


def in_order(*names: str) -> Recording:
    found = [
        Instance(kind="object", types=("x.A",), public=(("name", of_python(n)),)) for n in names
    ]
    said = (("list", Group("list", tuple(found))),)
    return Recording(1, (Instance(kind="object", types=("x.Query",), disclosures=said),))


@pytest.mark.parametrize(
    ("names", "is_right"), [("edcba", True), ("abcdf", False), ("abcd", False), ("abcdee", False)]
)
def test_order_of_the_reference_is_ignored_where_the_test_ignores_it(names, is_right):
    planned = plan("from shop import DEFAULT\n" + ANY_ORDER.format("DEFAULT"))
    # Some of the objects are at one place in both runs of the reference solution, as by chance.
    reference = referenced(*(outcome({"test_it": [in_order(*run)]}) for run in ("abcde", "acbed")))

    judged = planned.judge(outcome({"test_it": [in_order(*names)]}), reference)

    assert (judged.mismatches == (), judged.sealed == {IT}) == (is_right, is_right)


def test_own_list_is_compared_with_values_in_any_order():
    planned = plan(ANY_ORDER.format("['a', 'b']"))
    listed = (("list", of_python(["b", "a"])),)
    own = Recording(1, (Instance(kind="object", types=("x.Query",), disclosures=listed),))

    assert planned.judge(outcome({"test_it": [own]}), SealedReference()).sealed == {IT}


def test_value_in_a_form_of_the_code_under_test_comes_from_the_reference():
    body = """
        def check(given, expected):
            expected = [str(one) for one in expected]
            assert expected == parse(given)
        def test_it():
            check("a", ["sixty"])
    """

    def found(value: object) -> SealedOutcome:
        return outcome({"test_it": [Recording(1, (of_python([value]), token(2)))]})

    judge, reference = plan(body).judge, referenced(found("sixty"))
    assert judge(found("sixty"), reference).sealed == {IT}
    assert judge(found("sixty"), SealedReference()).sealed == frozenset()
    other = judge(found("SIXTY"), reference)  # its own form may be another one
    assert (other.sealed, other.differing) == (frozenset(), frozenset())


def test_exception_of_many_more_classes_than_the_references_differs():
    body = "def test_it():\n    with pytest.raises(KeyError):\n        parse('a')\n"

    def raised(*names: str) -> Recording:
        return Recording(1, raised=Instance("exception", names), is_error=True)

    usual = ("builtins.KeyError", "builtins.LookupError", "builtins.Exception")
    reference = referenced(outcome({"test_it": [raised(*usual)]}))
    own = outcome({"test_it": [raised("shop.Missing", *usual)]})
    assert plan(body).judge(own, reference).differing == frozenset()
    many = outcome({"test_it": [raised(*(f"shop.E{n}" for n in range(9)), *usual)]})
    assert plan(body).judge(many, reference).differing == {IT}
    named = outcome({"test_it": [raised("shop.KeyError", "builtins.Exception")]})
    assert plan(body).judge(named, reference).differing == {IT}


LINES = "def test_it():\n    parse('a').stdout.fnmatch_lines(['*MyModule*', '*test_x*'])\n"


@pytest.mark.parametrize(
    ("lines", "is_right"),
    [
        (["<MyModule a.py>", "", "  <Function test_x>"], True),
        (["  <Function test_x>", "<MyModule a.py>"], False),
        (["<Module a.py>"], False),
        ([], False),
    ],
)
def test_lines_of_an_output_are_matched_with_the_expected_patterns(lines, is_right):
    right = outcome({"test_it": [values(1, ["1 s", "<MyModule b>", "test_x"])]})
    for reference in (SealedReference(), referenced(right)):
        judged = plan(LINES).judge(outcome({"test_it": [values(1, lines)]}), reference)
        assert (judged.mismatches == (), judged.sealed == {IT}) == (is_right, is_right)


@pytest.mark.parametrize("found", [6, [6], ["a", 6], "MyModule"])
def test_value_that_is_no_list_of_lines_matches_no_patterns(found):
    judged = plan(LINES).judge(outcome({"test_it": [values(1, found)]}), SealedReference())
    assert judged.sealed == frozenset()


def test_patterns_that_most_outputs_match_are_not_sealed():
    body = "def test_it():\n    pool().stdout.fnmatch_lines('*1 passed*')\n"
    found = outcome({"test_it": [values(1, ["= 1 passed in 0.1s ="])]})
    judged = plan(body).judge(found, SealedReference())
    assert judged.unsealed == {IT: "line 4: its values are few enough to be guessed"}


PAGE = (200, "<b>sixty</b> and sixty")


@pytest.mark.parametrize(
    ("call", "page", "is_right"),
    [
        ("Contains(pool(), 'sixty')", PAGE, True),
        ("Contains(pool(), 'sixty')", (200, "six"), False),
        ("Contains(pool(), 'sixty')", (404, PAGE[1]), False),
        ("Contains(pool(), 'sixty', status_code=404)", (404, PAGE[1]), True),
        ("Contains(pool(), 'sixty', 2)", PAGE, True),
        ("Contains(pool(), 'sixty', count=1)", PAGE, False),
        ("Contains(pool(), 'sixty', None, 200)", PAGE, True),
        ("Contains(pool(), 'sixty')", "sixty", False),
    ],
)
def test_pages_are_compared_as_django_does_it(call, page, is_right):
    body = f"def test_it(self):\n    self.assert{call}\n"
    judged = plan(body).judge(outcome({"test_it": [values(1, page)]}), SealedReference())
    assert (judged.mismatches == (), judged.sealed == {IT}) == (is_right, is_right)


def test_text_that_a_page_must_not_have_is_compared_but_tells_little():
    planned = plan("def test_it(self):\n    self.assertNotContains(pool(), 'sixty')\n")
    right = planned.judge(outcome({"test_it": [values(1, (200, "six"))]}), SealedReference())
    assert right.unsealed == {IT: "line 4: its values are few enough to be guessed"}
    wrong = planned.judge(outcome({"test_it": [values(1, PAGE)]}), SealedReference())
    assert wrong.differing == {IT}


@pytest.mark.parametrize(("name", "is_right"), [("Skipped", True), ("Failed", False)])
def test_outcome_of_pytest_is_known_by_the_name_of_its_class(name, is_right):
    body = (
        "def test_it():\n    with pytest.raises(pytest.skip.Exception, match='not here'):\n"
        "        parse('a')\n"
    )
    names = (f"builtins.{name}", "builtins.OutcomeException", "builtins.BaseException")
    said = (("str", of_python("it is not here")),)
    found = Recording(1, raised=Instance("exception", names, disclosures=said), is_error=True)
    judged = plan(body).judge(outcome({"test_it": [found]}), SealedReference())
    assert (judged.sealed == {IT}) is is_right


def test_condition_that_the_host_cannot_evaluate_for_correct_code_is_relaxed():
    own = Instance("object", ("shop.Pool",))
    body = "def test_it():\n    assert 61 not in pool()\n"
    run = reference_run(frozenset({IT}), {IT: (Recording(1, (own,)),)})
    assert plan(body).relaxed_by(run) == {"test_it.py": (1,)}
    relaxed = plan(body, reference=SealedReference(relaxed={"test_it.py": (1,)}))
    assert b"61 not in pool()" in relaxed.files["test_it.py"]


def test_file_that_is_no_python_is_not_sealed():
    ids = (NodeId("test_it.txt::test_it.txt"),)
    tests = ControlledTests(files={"test_it.txt": b">>> 1\n"}, fixed=ids, passing=())
    made = SealedPlan(tests, 1, SealedReference())
    assert made.files == {}
    judged = made.judge(outcome({}), SealedReference())
    assert "tests in *.txt files are not sealed" in judged.unsealed[ids[0]]


def test_equal_tests_have_one_digest_and_others_another_one():
    first = plan(EQUAL).digest(b"fix")
    assert plan(EQUAL).digest(b"fix") == first
    assert len({first, plan(EQUAL).digest(b"other"), plan(EQUAL + "\n").digest(b"fix")}) == 3


@pytest.mark.parametrize(
    "file",
    [
        "integrity/sealing/statements.py",
        "python_source/scopes.py",
        "test_runs/mounted/agentbench_canonical.py",
    ],
)
def test_recordings_of_another_version_of_the_recorder_or_the_seal_are_not_compared(tmp_path, file):
    copy = shutil.copytree(Path(agentbench.__file__).parent, tmp_path / "agentbench")
    with (copy / file).open("a") as source:
        source.write("\n_CHANGED = True\n")
    code = (
        f"from tests.integrity.sealing import test_plan as t; print(t.plan({EQUAL!r}).digest(b''))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3]}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert other.stdout.strip() not in ("", plan(EQUAL).digest(b""))


def test_memory_keeps_runs_under_one_seal(tmp_path):
    path = tmp_path / "sealed.json"
    run = outcome({"test_it": [values(1, 61), Recording(2, raised=None, is_error=True)]})
    kept = referenced(run).replace(seal="one")
    SealedMemory(path).remember(kept)
    found = SealedMemory(path).recall("one")
    assert found == kept
    assert found.runs[0].recordings_of(IT) == run.recordings[IT]
    assert SealedMemory(path).recall("two") == SealedReference(seal="two")
    path.write_text("{}x")
    assert SealedMemory(path).recall("one") == SealedReference(seal="one")


PAIR = "def test_it():\n    x = pool.get()\n    assert x.size() == pool.root(5)\n"


@pytest.mark.parametrize(
    ("assertion", "is_expected"),
    [
        ("x.size() == math.sqrt(5)", True),
        ("x.size() == math.sqrt(FIVE)", True),
        ("pool.root(5) == x.size()", False),  # the first side may be under test
        ("x.size() == pool.root(5)", False),  # the agent may have to write this function,
        ("x.size() == -pool.SIZE", False),  # or to give this value
        ("x.size() == math.sqrt(ROOT)", False),
        ("x.size() == sqrt(5)", True),
        ("x.size() == float(sqrt(5))", True),
        ("x.size() == round(sqrt(5))", False),
        ("x.size() == abs(sqrt(5))", False),
    ],
)
def test_known_second_side_of_an_unreached_assertion_is_expected(assertion, is_expected):
    run = outcome({"test_it": [values(1, 7, 7)]})
    sealed = reference_run(run.passed, run.recordings)
    head = (
        "import math\nfrom math import sqrt\nfrom pool import round\n"
        "FIVE = 5\nROOT = pool.root(5)\ndef abs(x):\n    return pool.root(x)\n"
    )
    body = f"{head}def test_it():\n    x = pool.get()\n    assert {assertion}\n"
    expected = {"test_it.py": (1,)} if is_expected else {}
    assert plan(body).pairs_fixed_by(sealed, reference_run(frozenset(), {})) == expected


@pytest.mark.parametrize(
    ("base", "paired"),
    [
        ([values(1, 4, 7)], {"test_it.py": (1,)}),  # only the recorded side changes
        ([values(1, 7, 7)], {}),
        ([values(1, 7, 4)], {}),  # the fix is of the side that looks expected
        ([values(1, 4, 4)], {}),
    ],
)
def test_side_is_expected_if_only_the_other_one_is_fixed(base, paired):
    run, before = outcome({"test_it": [values(1, 7, 7)]}), outcome({"test_it": base})
    sealed, broken = (reference_run(each.passed, each.recordings) for each in (run, before))
    assert plan(PAIR).has_pairs
    assert plan(PAIR).pairs_fixed_by(sealed, broken) == paired


@pytest.mark.parametrize(("found", "agrees"), [(7, True), (8, False), (True, False)])
def test_recorded_side_of_a_pair_has_to_be_the_reference_s(found, agrees):
    reference = referenced(outcome({"test_it": [values(1, 7)]}))
    reference = reference.replace(paired={"test_it.py": (1,)})
    judged = plan(PAIR, reference=reference).judge(
        outcome({"test_it": [values(1, found)]}), reference
    )
    assert (not judged.mismatches, IT in judged.sealed) == (agrees, agrees)


def test_truth_that_only_a_run_tells_can_be_guessed():
    reference = referenced(outcome({"test_it": [values(1, True)]}))
    reference = reference.replace(paired={"test_it.py": (1,)})
    judged = plan(PAIR, reference=reference).judge(
        outcome({"test_it": [values(1, True)]}), reference
    )
    assert judged.unsealed == {IT: "line 5: its values are few enough to be guessed"}


def test_row_whose_expected_text_is_an_input_of_another_row_is_not_sealed():
    body = """
        @pytest.mark.parametrize("x, expected", [("rc.8", "rc.9"), ("rc.9", "rc.10")])
        def test_it(x, expected):
            assert parse(x) == expected
    """
    tests = ("test_it[rc.8-rc.9]", "test_it[rc.9-rc.10]")
    found = {test: [values(1, text)] for test, text in zip(tests, ("rc.9", "rc.10"), strict=True)}
    for number, recordings in enumerate(found.values(), 1):
        recordings[0] = replace(recordings[0], values=(*recordings[0].values, token(number)))
    judged = plan(body, *tests).judge(outcome(found), referenced(outcome(found)))
    assert judged.sealed == {NodeId(f"test_it.py::{tests[1]}")}
    why = "line 6: its expected value is an input elsewhere in the file"
    assert [*judged.unsealed.values()] == [why]


BESIDE = """
def test_it():
    assert pool() == 200
    assert parse('a').equals(61)
"""


def differing(planned: SealedPlan, right: list[Recording], base: list[Recording]):
    run, before = outcome({"test_it": right}), outcome({"test_it": base})
    known, unfixed = (reference_run(each.passed, each.recordings) for each in (run, before))
    found = planned.differences(known, unfixed)
    reference = referenced(run).replace(base=found)
    return found[IT], planned.judge(run, reference)


@pytest.mark.parametrize(
    ("base", "passed", "failed", "why"),
    [
        (
            [values(1, 200), values(2, False)],
            {1},
            {2},
            "line 6: its values are few enough to be guessed",
        ),
        ([values(1, 200)], {1}, set(), "line 6: its values are few enough to be guessed"),
        ([values(1, 404)], set(), {1}, "line 6: its expected value stays in the test"),
        ([], set(), set(), "line 6: its expected value stays in the test"),
        (
            [values(1, 200), values(2, True)],
            {1, 2},
            set(),
            "code without a fix passes each assertion with a value that cannot be guessed",
        ),
    ],
)
def test_strong_assertion_beside_a_weak_one_that_the_fix_is_about_seals_nothing(
    base, passed, failed, why
):
    difference, judged = differing(plan(BESIDE), [values(1, 200), values(2, True)], base)
    assert (difference.passed, difference.failed) == (passed, failed)
    assert judged.unsealed == {IT: why}


def test_assertion_whose_value_code_without_a_fix_lacks_is_sealed():
    body = "def test_it():\n    assert parse('a') is not None\n    assert parse('b') == 61\n"
    right = [values(1, 5), values(2, 61)]
    _, judged = differing(plan(body), right, [values(1, None)])
    assert judged.sealed == {IT}


@pytest.mark.parametrize(
    ("value", "is_sealed"),
    [
        ("[]", False),
        ("''", False),
        ("[True, False]", False),
        ("{'ok': True}", False),
        ("{'ok': 12}", True),
        ("[[], 'a']", True),
        ("(True,) * 8", True),
    ],
)
def test_container_is_as_strong_as_its_values(value, is_sealed):
    planned = plan(f"def test_it():\n    assert parse('a') == {value}\n")
    found = outcome({"test_it": [values(1, eval(value))]})
    assert (IT in planned.judge(found, SealedReference()).sealed) is is_sealed


def test_values_compared_with_files_are_not_sealed():
    source = "import filecmp\ndef test_it():\n    assert filecmp.cmpfiles(A, B, C) == (C, [], [])\n"
    function = plan(source).readable.get(IT)
    assert function is None


def test_truths_do_not_add_up():
    body = "def test_it():\n" + "    assert parse('a').equals(pool())\n" * 9
    found = outcome({"test_it": [values(number, True) for number in range(1, 10)]})
    judged = plan(body).judge(found, SealedReference())
    assert judged.unsealed == {IT: "line 4: its values are few enough to be guessed"}


@pytest.mark.parametrize("assertion", ["'19.99' in parse('a')", "re.search('19.99', parse('a'))"])
def test_text_with_all_answers_tells_less_than_the_reference_s(assertion):
    planned = plan(f"import re\ndef test_it():\n    assert {assertion}\n")
    reference = referenced(outcome({"test_it": [values(1, "you pay 19.99 now")]}))
    long = "you pay 19.99, which is the price of all that you have chosen, now" * 20
    for text, is_sealed in (("all in all 19.99", True), (long, False)):
        judged = planned.judge(outcome({"test_it": [values(1, text)]}), reference)
        assert judged.mismatches == ()
        assert (IT in judged.sealed) is is_sealed


@pytest.mark.parametrize(
    ("assertion", "right", "stuffed"),
    [
        ("'19.99' in parse('a')", "19.99", [f"{cents / 100:.2f}" for cents in range(10000)]),
        (
            "re.search('19.99', parse('a'))",
            "19.99",
            [f"{cents / 100:.2f}" for cents in range(9999)],
        ),
        ("want in parse('a')", "19.99", [f"{cents / 100:.2f}" for cents in range(10000)]),
    ],
)
def test_text_with_most_answers_is_wrong(assertion, right, stuffed):
    planned = plan(f"import re\nwant = '19.99'\ndef test_it():\n    assert {assertion}\n")
    reference = referenced(outcome({"test_it": [values(1, right)]}))
    judged = planned.judge(outcome({"test_it": [values(1, " ".join(stuffed))]}), reference)
    assert judged.differing == {IT}
    # Where the reference solution gives as many, it is right.
    both = outcome({"test_it": [values(1, " ".join(stuffed))]})
    assert planned.judge(both, referenced(both)).mismatches == ()


@pytest.mark.parametrize(
    ("expected", "right", "long"),
    [
        ("42", "42", " ".join(map(str, range(100)))),
        ("346", f"346 of {'many ' * 40}", " ".join(map(str, range(1000)))),
        ("1421", "3.14215", "".join(map(str, range(9999)))),
    ],
)
def test_text_with_most_short_numbers_is_not_wrong_and_proves_nothing(expected, right, long):
    planned = plan(f"def test_it():\n    assert {expected!r} in parse('a')\n")
    reference = referenced(outcome({"test_it": [values(1, right)]}))
    judged = planned.judge(outcome({"test_it": [values(1, long)]}), reference)
    assert judged.mismatches == ()
    assert judged.unsealed == {IT: "the host cannot evaluate line 4"}


def test_numbers_that_a_right_fix_gives_in_a_longer_text_are_not_wrong():
    planned = plan("def test_it():\n    assert 6121 in parse('a')\n")
    reference = referenced(outcome({"test_it": [values(1, [6121])]}))
    found = outcome({"test_it": [values(1, [*range(6000, 6200)])]})
    assert planned.judge(found, reference).mismatches == ()
    for most in ([*range(1000, 8000)], Group("range", (Leaf("int", 0), Leaf("int", 9**9)))):
        judged = planned.judge(outcome({"test_it": [values(1, most)]}), reference)
        assert judged.differing == {IT}


def test_decision_beside_the_assertions_is_a_reason():
    statement = "if parse('b') != 62: pytest.fail()"
    planned = plan(f"def test_it():\n    {statement}\n    assert parse('a') == 61\n")
    judged = planned.judge(outcome({"test_it": [values(1, 61)]}), SealedReference())
    assert judged.mismatches == ()
    assert judged.unsealed == {IT: "line 4: the test itself decides that it fails"}


@pytest.mark.parametrize(
    ("statement", "may_compare"),
    [
        ("golden.check('1001')", True),
        ("golden.load('1001')", False),
        ("self.check_golden(1001)", True),
        ("self.own_check(1001)", False),
        ("self.assertNumQueries(3, pool)", False),
        ("with expects_stored('1001'):\n            pool()", True),
        ("with opened('1001'):\n            pool()", False),
        ("with prints_stored('1001'):\n            pool()", True),
        ("local = pool()\n        local.check()", False),
        ("with deprecated_call(match='no 1001'):\n            pool()", False),
        ("with RaisesGroup(RaisesExc(OSError, match='no 1001')):\n            pool()", True),
        ("with RaisesGroup(OSError):\n            pool()", False),
        ("exec('assert pool() == 1001')", True),
        ("found = eval('pool() != 1001')", True),
        ("exec('pool()')", False),
        ("subprocess.run(['python', '-c', 'assert pool() == 1001'])", True),
        ("subprocess.run(['python', '-m', 'pool', '1001'])", False),
    ],
)
def test_code_of_another_file_may_compare_without_getting_a_value(statement, may_compare):
    source = f"""
from tests.helpers import expects_stored, opened, prints_stored
class T(TestCase):
    def own_check(self, n):
        pool(n)
    def test_it(self, golden):
        {statement}
        self.assertEqual(parse('a'), 7)
"""
    test = NodeId("test_it.py::T::test_it")
    function = plan(source, "T::test_it")._function[test][1]
    assert (
        function.unsealed == "line 9: code of another file, or of a text, may compare a value"
    ) is may_compare


@pytest.mark.parametrize(
    "statement",
    [
        "raise_it = pytest.raises(ValueError)",
        "if len(pool()) == 3: pool()",
        "def broken():\n        raise ValueError",
        "for number in range(9):\n        if number == 7: pool()",
    ],
)
def test_decision_that_shows_no_expected_value_is_no_reason(statement):
    planned = plan(f"def test_it():\n    {statement}\n    assert parse('a') == 61\n")
    number = 2 if "raises" in statement else 1
    judged = planned.judge(outcome({"test_it": [values(number, 61)]}), SealedReference())
    assert judged.unsealed == {}


@pytest.mark.parametrize(
    ("is_full", "is_large", "is_wrong"),
    [(True, True, False), (True, False, True), (False, True, True)],
)
def test_full_recording_is_wrong_only_if_that_of_the_reference_is_small(
    is_full, is_large, is_wrong
):
    known = reference_run(frozenset({IT}), {IT: (values(1, 61),)})
    reference = SealedReference(runs=(known.replace(is_large=is_large),))
    judged = plan(EQUAL).judge(replace(outcome({"test_it": []}), is_full=is_full), reference)
    assert (judged.differing == {IT}) is is_wrong
    if not is_wrong:
        assert judged.unsealed == {IT: "the recordings of all tests took too much room"}


def test_only_a_wrong_value_is_final():
    planned = plan(EQUAL)
    wrong = planned.judge(outcome({"test_it": [values(1, 60)]}), SealedReference())
    missing = planned.judge(outcome({"test_it": []}), SealedReference())
    assert wrong.mismatches
    assert wrong.has_wrong_value
    assert missing.mismatches
    assert not missing.has_wrong_value


@pytest.mark.parametrize("value", ["b'wxyz'", "61001", "-61001.5", "[61, 'b', (3, 4)]", "'pears'"])
@pytest.mark.parametrize("other", ["pool({})", "parse([{}])"])
def test_value_that_is_an_input_of_another_test_is_not_sealed(value, other):
    body = f"def test_it():\n    assert parse('a') == {value}\ndef test_b():\n    assert {{}}\n"
    judged = plan(body.format(f"{other.format(value)} == 3"), "test_it", "test_b").judge(
        outcome({"test_it": [values(1, ast.literal_eval(value))], "test_b": [values(2, 3)]}),
        SealedReference(),
    )
    assert judged.unsealed == {IT: "line 4: its expected value is an input elsewhere in the file"}


@pytest.mark.parametrize("expected", ["6100", "[6100, 3]", "{'a': (6100, 4)}"])
@pytest.mark.parametrize(
    ("before", "after", "is_sealed"),
    [
        ("", "assert pool(6100) == 3", False),
        ("box = parse('a')", "assert box.back(6100) == 3", False),
        ("box = pool(6100)", "", True),
        ("box = parse('a')\n    box.add(6100)", "", True),
        ("box = parse('a')\n    pool(6100)", "", False),
    ],
)
def test_expected_value_may_be_an_input_only_where_the_compared_one_comes_from(
    expected, before, after, is_sealed
):
    compared = "box" if "box" in before else "parse('a')"
    body = f"    {before or 'pass'}\n    assert {compared} == {expected}\n    {after or 'pass'}\n"
    found = outcome({"test_it": [values(1, ast.literal_eval(expected)), values(2, 3)]})
    judged = plan(f"def test_it():\n{body}").judge(found, SealedReference())
    assert judged.mismatches == ()
    assert (IT in judged.sealed) is is_sealed


@pytest.mark.parametrize("value", ["999", "b'xyz'", "[1, 2]"])
def test_value_that_many_tests_have_by_chance_is_sealed_all_the_same(value):
    body = f"def test_it():\n    assert parse('a') == {value}\ndef test_b():\n    pool({value})\n"
    judged = plan(body).judge(
        outcome({"test_it": [values(1, ast.literal_eval(value))]}), SealedReference()
    )
    assert judged.sealed == {IT}


SHARES = """
@pytest.mark.parametrize("x", [1, 2])
def test_it(x):
    assert all(
        found == 61
        for found in parse(x)
    ), "x"
    with pytest.raises(KeyError):
        pool()
"""


@pytest.mark.parametrize(
    ("why", "explained"),
    [
        (
            "line 6: it stays in the test",
            'line 6: it stays in the test: `assert all( found == 61 for found in parse(x) ), "x"`',
        ),
        (
            "line 7: it stays in the test",  # a part of a statement
            "line 7: it stays in the test: `found == 61`",
        ),
        (
            "the host cannot evaluate line 10",
            "the host cannot evaluate line 10: `with pytest.raises(KeyError):`",
        ),
        ("it recorded nothing", "it recorded nothing"),
    ],
)
def test_why_a_test_is_not_sealed_has_the_statement_that_prevents_it(why, explained):
    test = NodeId("test_it.py::test_it[1]")
    assert plan(SHARES, "test_it[1]", "test_it[2]").explained(test, why) == explained


def test_line_of_an_inherited_test_is_not_looked_up_in_another_file():
    inherited = Inheritance(origins={IT: NodeId("base.py::test_it")}, files={"base.py": None})
    files = {"test_it.py": f"\n\n{EQUAL}".encode()}
    tests = ControlledTests(files=files, fixed=(IT,), passing=())
    planned = SealedPlan(tests, 1, SealedReference(), inherited)
    assert planned.explained(IT, "line 4: it stays") == "line 4: it stays"


MOCKED = """
    from unittest import mock

    def test_it():
        sender = mock.Mock()
        pool(sender)
        sender.{}
"""


@pytest.mark.parametrize(
    ("assertion", "attribute"),
    [
        ("assert_has_calls([mock.call.send(61), mock.call.close()])", "mock_calls"),
        ("assert_has_calls([mock.call.close(), mock.call.send(61)], any_order=True)", "mock_calls"),
        ("send.assert_any_call(61)", "send.call_args_list"),
        ("send.assert_called_with(61)", "send.call_args"),
    ],
)
def test_calls_of_a_mock_are_compared_with_the_expected_ones(assertion, attribute):
    judge = plan(MOCKED.format(assertion)).judge

    def found(*calls: str) -> SealedOutcome:
        sender = mock.Mock()
        for call in calls:
            eval(f"sender.{call}")
        value = recorded(operator.attrgetter(attribute)(sender))
        return outcome({"test_it": [Recording(1, (value,))]})

    right = found("send(5)", "send(61)", "close()")
    assert judge(right, referenced(right)).sealed == {IT}
    assert judge(right, SealedReference()).sealed == {IT}
    for wrong in (found("send(5)", "close()"), found("sent(61)", "send(60)", "close()")):
        assert judge(wrong, referenced(right)).differing == {IT}
        assert judge(wrong, SealedReference()).differing == {IT}


def test_order_of_a_mocks_calls_counts_unless_the_test_ignores_it():
    calls = mock.Mock()
    calls.close(), calls.send(61), calls.open(), calls.send(61)
    found = outcome({"test_it": [Recording(1, (recorded(calls.mock_calls),))]})
    for expected, is_right in (
        ("[mock.call.send(61), mock.call.close()]", False),
        ("[mock.call.close(), mock.call.open()]", False),
        ("[mock.call.send(61), mock.call.close()], any_order=True", True),
        ("[mock.call.close(), mock.call.close()], any_order=True", False),
        ("[mock.call.send(61), mock.call.send(61)], any_order=True", True),
    ):
        planned = plan(MOCKED.format(f"assert_has_calls({expected})"))
        assert bool(planned.judge(found, SealedReference()).mismatches) is not is_right


def test_mock_that_gets_a_computed_argument_proves_nothing():
    planned = plan(MOCKED.format("assert_called_with(parse('a'), 6)"))

    def found(called: int, expected: int) -> SealedOutcome:
        values_ = mock.call(called, 6), ((expected, 6), {})
        return outcome({"test_it": [Recording(1, tuple(map(recorded, values_)))]})

    reference = referenced(found(61, 61))
    right = planned.judge(found(61, 61), reference)
    assert right.unsealed == {IT: "line 9: its values are few enough to be guessed"}
    assert planned.judge(found(61, 62), reference).differing == {IT}


@pytest.mark.parametrize(
    ("assertion", "right", "wrong", "also_right"),
    [
        ("assert_results_equal(parse('a'), 61)", 61, 62, 61),
        ("assert_golden(parse('a'))", "one\ntwo", "one\nthree", "one\n two\n"),
        ("assert_tables_equal(parse('a'))", [1, "b"], [1, "c"], ["b", 1]),
        ("assert_golden(parse('a'))", {"k": True}, {"k": False}, {"k": True}),
    ],
)
def test_stable_plain_value_unlike_the_references_is_wrong(assertion, right, wrong, also_right):
    body = f"from tests.tools import *\ndef test_it():\n    {assertion}\n"
    planned = plan(body)
    reference = referenced(*[outcome({"test_it": [values(1, right)]})] * 2)
    assert planned.judge(outcome({"test_it": [values(1, wrong)]}), reference).differing == {IT}
    other = planned.judge(outcome({"test_it": [values(1, also_right)]}), reference)
    assert other.mismatches == ()
    opaque = outcome({"test_it": [Recording(1, (Instance("object", ("shop.Any",)),))]})
    assert planned.judge(opaque, reference).differing == {IT}


@pytest.mark.parametrize(
    ("assertion", "found", "references"),
    [
        ("assert_valid(parse('a'))", 62, [61, 61]),
        ("assert_almost_equal_text(parse('a'))", "b", ["a", "a"]),
        ("assert_results_equal(parse('a'))", 1.5, [1.4, 1.4]),
        ("assert_results_equal(parse('a'))", [1, 1.5], [[1, 1.4], [1, 1.4]]),
        ("assert_results_equal(parse('a'))", 62, [61, 60]),
    ],
)
def test_value_that_a_right_fix_may_give_is_not_wrong(assertion, found, references):
    planned = plan(f"from tests.tools import *\ndef test_it():\n    {assertion}\n")
    reference = referenced(*(outcome({"test_it": [values(1, each)]}) for each in references))
    judged = planned.judge(outcome({"test_it": [values(1, found)]}), reference)
    assert judged.differing == frozenset()


def test_reference_names_the_properties_that_are_read_of_an_agents_objects():
    inner = Instance("subclass", ("shop.B",), public=(("cents", Leaf("int", 1)),))
    own = Instance(
        "object", ("shop.A",), public=(("size", Group("list", (inner,))), ("slow", Unreadable()))
    )
    run = outcome({"test_it": [Recording(1, (own,)), values(2, ["object", "text"])]})
    assert referenced(run).public_names == {"size", "cents"}
