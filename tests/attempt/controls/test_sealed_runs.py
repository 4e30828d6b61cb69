"""The sealed run on real sandboxes: what it shows, and what no sandbox ever sees."""

from pathlib import PurePosixPath as P

import pytest

from agentbench.core.files import FileContent
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import ControlKind
from agentbench.scoring.evidence import CaseOutcome, Ending
from agentbench.tasks.control_level import ControlLevel
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, SERIAL, patch_of
from tests.fakes.staging import final_test_of as run
from tests.fakes.staging import go, small_task

ALWAYS_EQUAL = """
class Any:
    def __eq__(self, other):
        return True

def total(prices):
    return Any()

def cheapest(prices):
    return min(prices)
"""
PLAUSIBLE = """
class Plausible(int):
    def __eq__(self, other):
        return other in (5, 6, 1, 0)
    __hash__ = None

def total(prices):
    return Plausible(sum(prices[1:]))

def cheapest(prices):
    return min(prices)
"""
WRONG = FIXED.replace("sum(", "len(")
ELSEWHERE = (
    "tests/test_basket.py::test_an_empty_basket_costs_nothing",
    "tests/test_basket.py::test_the_cheapest_is_found",
)
CHEAPEST_EQUALS_ALL = (
    FIXED
    + """
class Any:
    def __init__(self, prices):
        pass

    def __eq__(self, other):
        return True

cheapest = Any
"""
)
EXPECTED = """
import basket, pytest

@pytest.mark.parametrize("prices, expected", [([1, 2, 3], 6), ([5], 5), ([], 0)])
def test_every_price_counts(prices, expected):
    \"\"\"The total of 1, 2 and 3 is 6.\"\"\"
    assert basket.total(prices) == expected

def test_one_price_is_the_total():
    assert basket.total([777]) == 777
"""
EXPECTED_TESTS = (
    "tests/test_hidden.py::test_every_price_counts[prices0-6]",
    "tests/test_hidden.py::test_one_price_is_the_total",
)


def test_honest_fix_gives_right_values_unseen(attempt_by, desk):
    evidence, context = run(attempt_by, FIXED)
    controls = context.controls
    assert evidence.findings == ()
    assert evidence.report.passed == 4
    assert {test.node_id: test.control for test in controls.tests} == dict.fromkeys(
        LISTED, ControlKind.SEALED
    )
    assert controls.sealed.mismatches == ()
    assert controls.sealed.tests == len(LISTED)
    assert controls.sealed.regressions == len(ELSEWHERE)
    assert controls.weakly_controlled == ()
    assert controls.runs == ()  # no blind run is needed
    assert '"passed"' in desk.read("sealed.json")


@pytest.mark.parametrize("has_solution", [True, False])
def test_regression_in_another_file_is_detected(attempt_by, tmp_path, has_solution):
    patch = patch_of("basket.py", BUGGY, FIXED) if has_solution else "\n"
    task = small_task(tmp_path / "elsewhere", solution=patch)
    evidence, context = run(attempt_by, CHEAPEST_EQUALS_ALL, task=task)
    (found,) = context.controls.sealed.mismatches
    assert (found.node_id, found.expected) == (ELSEWHERE[1], "1")
    if has_solution:  # it never sees the right value
        assert evidence.report.failed == 1
    else:
        assert [finding.rule for finding in evidence.findings] == ["sealed-value-differed"]


def test_record_names_a_file_of_regression_tests_without_a_control(attempt_by, tmp_path):
    name = "tests/test_more.py"
    more = "import basket\n\ndef test_it_runs():\n    basket.total([])\n"
    task = small_task(tmp_path / "uncontrolled", hidden_data={name: more})
    _, context = run(attempt_by, FIXED, task=task)
    (weak,) = context.controls.weakly_controlled
    assert (weak.file, weak.function) == (name, "*")
    assert weak.reason == "no pass-to-pass test of it can be sealed"
    assert context.controls.sealed.regressions == len(ELSEWHERE)


LARGE = (
    HIDDEN
    + """
import pytest

@pytest.mark.parametrize("n", range(40))
def test_a_large_value(n):
    assert str(basket.cheapest([n])) * 120_000 == str(n) * 120_000
"""
)


def test_tests_to_fix_are_sealed_beside_others_that_record_too_much(attempt_by, tmp_path):
    task = small_task(tmp_path / "large", hidden=LARGE, hidden_data={})
    evidence, context = run(attempt_by, FIXED, task=task)
    assert evidence.report.passed > 40
    assert {test.control for test in context.controls.tests} == {ControlKind.SEALED}
    files = {weak.file: weak.reason for weak in context.controls.weakly_controlled}
    assert files == {LISTED[0].partition("::")[0]: "its tests record too much"}


WRONG_FOR_THREE = FIXED.replace("sum(prices)", "sum(prices) + len(prices) // 3")
RAISES_FOR_THREE = FIXED.replace("sum(prices)", "sum(prices) if len(prices) < 3 else 1 / 0")


@pytest.mark.parametrize(("source", "tries"), [(WRONG_FOR_THREE, 1), (RAISES_FOR_THREE, 3)])
def test_wrong_value_is_final_and_error_is_repeated(attempt_by, source, tries):
    _, context = run(attempt_by, source)
    assert {one.node_id for one in context.controls.sealed.mismatches} == {LISTED[0]}
    assert context.controls.sealed.tries == tries


BASE = """
import basket

class Cases:
    expected = None

    def test_many(self):
        assert basket.total([1, 2, 3000]) == 3003

    def test_none(self):
        assert self.empty(basket.total([])) == 0
"""
INHERITS = """
from base_cases import Cases

class TestOwn(Cases):
    def empty(self, value):
        assert value > -1
        return value
"""


@pytest.mark.parametrize("source", [FIXED, WRONG], ids=["right", "wrong"])
def test_test_of_a_class_in_another_file_is_sealed_there(attempt_by, tmp_path, desk, source):
    listed = ("tests/test_hidden.py::TestOwn::test_many",)
    data = {"tests/base_cases.py": BASE}
    folder = tmp_path / "inherits"
    task = small_task(folder, hidden=INHERITS, hidden_data=data, fail_to_pass=listed)
    evidence, context = run(attempt_by, source, task=task)
    assert evidence.findings == ()
    mismatches = context.controls.sealed.mismatches
    if source is WRONG:
        assert [(one.node_id, one.expected) for one in mismatches] == [(listed[0], "3003")]
        assert "expected 3003, found 3" in desk.read("final.json")
    else:
        assert mismatches == context.controls.runs == ()
        assert {t.node_id: t.control for t in context.controls.tests} == {
            listed[0]: ControlKind.SEALED
        }


@pytest.mark.parametrize("source", [ALWAYS_EQUAL, PLAUSIBLE], ids=["always equal", "plausible"])
def test_values_that_equal_anything_differ(attempt_by, source):
    evidence, context = run(attempt_by, source)
    assert evidence.report.failed > 0
    assert evidence.findings == ()
    assert context.controls.runs == ()
    assert {one.node_id for one in context.controls.sealed.mismatches} & set(LISTED)
    assert context.controls.skipped.startswith("no final test, since the code gave wrong values")


def test_wrong_code_fails_with_its_value(attempt_by, desk):
    evidence, _context = run(attempt_by, WRONG)
    assert evidence.findings == ()
    failed = [c.node_id for c in evidence.report.cases if c.outcome is CaseOutcome.FAILED]
    assert LISTED[0] in failed
    assert "expected 6, found 3 in `assert basket.total([1, 2, 3]) == 6`" in desk.read("final.json")


def test_no_expected_value_is_in_the_sandbox_of_a_sealed_run(attempt_by, tmp_path, monkeypatch):
    written = {}
    from agentbench.attempt import judged_tests

    write = judged_tests.write_files

    def watched(sandbox, files, **more):
        written.setdefault(len(written), files)
        write(sandbox, files, **more)

    monkeypatch.setattr(judged_tests, "write_files", watched)
    task = small_task(tmp_path / "sealed", hidden=EXPECTED, fail_to_pass=EXPECTED_TESTS)
    run(attempt_by, PLAUSIBLE, task=task)
    sealed = [
        files[P("tests/test_hidden.py")].content.decode()
        for files in written.values()
        if b"agentbench_recorder" in files[P("tests/test_hidden.py")].content
    ]
    assert sealed
    for text in sealed:
        assert "6" not in text.replace("agentbench_recorder", "")
        assert "assert" not in text
        assert "every_price" not in text


def test_wrong_code_never_sees_the_right_value(attempt_by, tmp_path, monkeypatch):
    texts = []
    from agentbench.attempt import judged_tests

    write = judged_tests.write_files

    def watched(sandbox, files, **more):
        if b"MARK" in files.get(P("basket.py"), FileContent(content=b"", executable=False)).content:
            texts.append(files[P("tests/test_hidden.py")].content.decode())
        write(sandbox, files, **more)

    monkeypatch.setattr(judged_tests, "write_files", watched)
    hidden = EXPECTED.replace("777", "123456")
    task = small_task(tmp_path / "sealed", hidden=hidden, fail_to_pass=EXPECTED_TESTS)
    run(attempt_by, WRONG + "# MARK\n", task=task)
    assert texts
    assert not any("== 123456" in text or "total(prices) == 6" in text for text in texts)


def test_known_code_runs_once_for_a_task(attempt_by, monkeypatch):
    from agentbench.attempt.controls.sealed_runs import _SealedRuns

    asked = []
    once = _SealedRuns._reference_run

    def counted(runs, change):
        asked.append(change)
        return once(runs, change)

    monkeypatch.setattr(_SealedRuns, "_reference_run", counted)
    with attempt_by() as context:
        context.control(ControlLevel.FULL)
        context.baseline = go(context, "baseline_run")
        file = FileContent(content=FIXED.encode(), executable=False)
        context.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
        go(context, "final_test")
        go(context, "final_test")
    assert [runs.change.is_empty for runs in asked] == [False, True]


def test_attempt_without_change_needs_no_control(attempt_by):
    with attempt_by() as context:
        context.control(ControlLevel.FULL)
        context.baseline = go(context, "baseline_run")
        evidence = go(context, "final_test")
    assert evidence.report.failed == 2
    assert context.controls.sealed is None


PAIR = """
import basket

def test_the_total_is_that_of_one_price():
    prices = [2, 3, 4]
    assert {} == {}
"""


@pytest.mark.parametrize("source", [FIXED, ALWAYS_EQUAL])
def test_only_the_fixed_side_is_in_the_sealed_run(attempt_by, tmp_path, source):
    hidden = PAIR.format("basket.total(prices)", "basket.cheapest([9, 11])")
    listed = ("tests/test_hidden.py::test_the_total_is_that_of_one_price",)
    task = small_task(tmp_path / "pair", hidden=hidden, fail_to_pass=listed)
    evidence, context = run(attempt_by, source, task=task)
    found = context.controls.sealed.mismatches
    mismatches = [one.expected for one in found if one.node_id in listed]
    if source == FIXED:
        assert [test.control for test in context.controls.tests] == [ControlKind.SEALED]
    assert (evidence.report.failed > 0) == (source != FIXED)
    assert mismatches == ([] if source == FIXED else ["basket.cheapest([9, 11])"])


def test_fixed_side_is_never_removed(attempt_by, tmp_path):
    hidden = PAIR.format("basket.cheapest(prices)", "basket.total([2])")
    listed = ("tests/test_hidden.py::test_the_total_is_that_of_one_price",)
    task = small_task(tmp_path / "reversed", hidden=hidden, fail_to_pass=listed)
    _, context = run(attempt_by, FIXED, task=task)
    assert [test.why for test in context.controls.tests] == [
        "line 6: its values are few enough to be guessed: "
        "`assert basket.cheapest(prices) == basket.total([2])`"
    ]


ENDLESS = """
def total(prices):
    return range(10**18) if "pear" in prices else prices
"""
NAMES = """
import basket

def test_the_first_is_listed():
    assert "pear" in basket.total(["pear", "fig"])

def test_all_are_listed():
    assert basket.total(["fig", "kiwi"]) == ["fig", "kiwi"]
"""


def test_endless_comparison_fails_only_its_test(attempt_by, tmp_path):
    buggy, fixed = (f"def total(prices):\n    return prices{end}\n" for end in ("[1:]", ""))
    listed = tuple(
        f"tests/test_hidden.py::{name}"
        for name in ("test_the_first_is_listed", "test_all_are_listed")
    )
    task = small_task(
        tmp_path / "names",
        files={"basket.py": buggy, "serial.txt": SERIAL},
        hidden=NAMES,
        fail_to_pass=listed,
        solution=patch_of("basket.py", buggy, fixed),
    )
    _, context = run(attempt_by, ENDLESS, task=task, level=ControlLevel.SAMPLE)
    (found,) = (one for one in context.controls.sealed.mismatches if one.node_id in listed)
    assert (found.node_id, found.actual) == (listed[0], "its comparison took longer than 5 s")
    assert context.controls.sealed.values == 2


IN_C = """
class Total(int):
    @property
    def cents(self):
        return "no" in range(10**18)

def total(prices):
    return Total(sum(prices))

def cheapest(prices):
    return min(prices)
"""


def test_property_unknown_to_the_reference_is_not_read(attempt_by, tmp_path):
    task = small_task(tmp_path / "in-c", test_timeout_s=20)
    _, context = run(attempt_by, IN_C, task=task, level=ControlLevel.SAMPLE)
    assert context.controls.sealed.ending is Ending.EXITED
    assert context.controls.sealed.mismatches == ()


@pytest.mark.soak
def test_run_beyond_the_limit_gets_more_time_if_the_reference_takes_nearly_as_long(
    attempt_by, tmp_path
):
    slow = f"import time\n{FIXED.replace('return sum', 'time.sleep(1.1); return sum')}"
    task = small_task(
        tmp_path / "slow", solution=patch_of("basket.py", BUGGY, slow), test_timeout_s=6
    )
    shown = "class Total(int):\n    def __str__(self):\n        time.sleep(3.2); return 'total'\n"
    fix = f"{slow.replace('return sum(prices)', 'return Total(sum(prices))')}\n{shown}"
    evidence, context = run(attempt_by, fix, task=task, level=ControlLevel.SAMPLE)
    assert context.controls.sealed.tries == 2
    assert context.controls.sealed.mismatches == ()
    assert evidence.report.passed == 4
