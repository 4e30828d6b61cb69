import shutil
import tomllib
from pathlib import Path

import pytest

from agentbench.integrity.records import WeakControl
from agentbench.runs.options import RunOptions
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.loading import load_task
from agentbench.tasks.problem import TaskId
from agentbench.validation.stored_proof import read_proof, write_proof
from agentbench.validation.task_proof import TaskProof
from agentbench.validation.task_validation import (
    ValidationResult,
    ValidationSettings,
    all_controls,
    find_leaks,
    invalid_reasons_text,
    quarantine_flaky_tests,
    result_lines,
    validate_folders,
)
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, SmallTask
from tests.fakes.staging import local_provider, mirrors, small_task
from tests.validation.test_mutation_results import strength_of

pytestmark = pytest.mark.full

CHANCE = """

import secrets
import pytest

@pytest.mark.parametrize("number", range(6))
def test_chance(number):
    assert secrets.token_hex(8) < "8"
"""
CHANCES = tuple(f"tests/test_hidden.py::test_chance[{number}]" for number in range(6))


def options_in(folder) -> RunOptions:
    return RunOptions(sandbox=local_provider().name, runs_dir=folder / "runs", attempts=2)


@pytest.fixture
def options(tmp_path) -> RunOptions:
    return options_in(tmp_path)


@pytest.fixture
def once(options) -> RunOptions:
    """For what shows in a single attempt."""
    return options.replace(attempts=1)


@pytest.fixture
def write(tmp_path):
    def write(name="small", **changes):
        (tmp_path / name).mkdir()
        return SmallTask(**changes).write(tmp_path / name)

    return write


def follow(run):
    for _ in run.attempts():
        pass


def prove(folders, options, **settings):
    return validate_folders(folders, ValidationSettings(options=options, **settings), follow)


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """A good task with a proof beside it, what was said of it, and the options of its runs."""
    place = tmp_path_factory.mktemp("proven")
    (place / "small").mkdir()
    folder, options = SmallTask().write(place / "small"), options_in(place)
    (message,) = prove([folder], options, record=True)
    return folder, message, options


@pytest.fixture
def copied(proven, tmp_path):
    """A copy of that task and of its proof."""
    return shutil.copytree(proven[0], tmp_path / "small", symlinks=True)


def test_results_have_order_of_folders(write, once):
    bad = write("bad", files={"basket.py": "X = 1\n"})
    (bad / "task.toml").write_text("schema_version = 2\n")
    unsolved, good = write("unsolved"), write("good")
    (unsolved / "solution.patch").unlink()
    message = prove([bad, unsolved, good], once)
    assert [(one.task_id, one.is_valid) for one in message] == [
        ("bad", False),
        ("unsolved", False),
        ("good", True),
    ]
    assert message[0].proof is None
    assert "schema_version" in message[0].reasons[0]
    assert message[1].reasons[0].startswith("the reference solution ends in TOOL_ERROR")
    assert not (good / "proof.json").exists()


def test_task_without_regression_tests_is_invalid(write, once):
    unguarded = write("unguarded", tests="pass_to_pass = []")
    nothing_passes = write("nothing", files={"basket.py": BUGGY, "serial.txt": "1"})
    test = "tests/test_basket.py::test_the_cheapest_is_found"
    guarded = write("guarded", tests=f'pass_to_pass = ["{test}"]')
    message = prove([unguarded, nothing_passes, guarded], once)
    assert [one.is_valid for one in message] == [False, False, True]
    for one in message[:2]:
        (reason,) = one.reasons
        assert reason.startswith("no regression tests: no test passes both before and after")


def test_swe_bench_instance_needs_no_regression_tests(write, once):
    folder = write("instance", tests="pass_to_pass = []")
    (folder / "swebench.json").write_text("{}")
    (one,) = prove([folder], once)
    assert one.is_valid


def test_proof_is_written(proven):
    folder, message, options = proven
    stored = read_proof(folder)
    assert stored == message.stored_proof
    assert (stored.good, stored.repeat, stored.sandbox) == (True, 2, options.sandbox)
    assert stored.controlled == LISTED
    assert stored.seconds["final_test"] > 0


def test_measurements_of_same_files_stay_in_proof(copied, options):
    score = strength_of(killed=3, survived=1)
    write_proof(copied, read_proof(copied).replace(strength=score))
    (one,) = prove([copied], options, record=True)
    assert not one.is_from_stored_proof
    assert read_proof(copied).strength == score
    instruction = copied / "instruction.md"
    instruction.write_text(f"{instruction.read_text()}Mend it.\n")
    (one,) = prove([copied], options, record=True)
    assert one.stored_proof.strength is None
    assert read_proof(copied).strength is None


def test_proof_counts_resolved_attempts_of_both_agents(proven, write, once):
    stored = proven[1].stored_proof
    assert (stored.resolved_by_reference, stored.resolved_by_noop) == (2, 0)
    unsolved = write("unsolved")
    (unsolved / "solution.patch").unlink()
    (one,) = prove([unsolved], once)
    assert one.stored_proof.resolved_by_reference == 0
    assert not (unsolved / "proof.json").exists()


def test_stored_proof_is_used(copied, options):
    (one,) = prove([copied], options, resume=True)
    assert (one.is_valid, one.is_from_stored_proof) == (True, True)
    assert not options.runs_dir.exists() or not list(options.runs_dir.iterdir())


@pytest.mark.parametrize("change", ["file", pytest.param("repeat", marks=pytest.mark.soak)])
def test_proof_of_other_files_is_not_used(copied, options, change):
    if change == "file":
        (copied / "instruction.md").write_text("something else\n")
    more = options.replace(attempts=2 + (change == "repeat"))
    (one,) = prove([copied], more, resume=True)
    assert not one.is_from_stored_proof


def test_flaky_tests_are_quarantined(write, options):
    stable = "tests/test_basket.py::test_the_cheapest_is_found"
    listed = repr([*CHANCES, stable]).replace("'", '"')
    folder = write(hidden=HIDDEN + CHANCE, tests=f"pass_to_pass = {listed}")
    (one,) = prove([folder], options, record=True)
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    apart = {each["id"]: each["rate"] for each in tests["quarantined"]}
    assert apart
    assert set(apart) <= set(CHANCES)
    assert all(0 < rate < 1 for rate in apart.values())
    assert not set(tests["pass_to_pass"]) & set(apart)
    assert tests["fail_to_pass"] == list(LISTED)
    # Six coins may all fall alike in the last round, and then nothing more is seen of them.
    assert all(reason.startswith(("flaky: ", "the reference")) for reason in one.reasons)


def test_task_with_only_flaky_tests_is_invalid(write, options):
    folder = write(hidden=HIDDEN + CHANCE, fail_to_pass=CHANCES)
    before = (folder / "task.toml").read_text()
    (one,) = prove([folder], options, record=True)
    assert not one.is_valid
    if set(one.proof.flaky) >= set(CHANCES):
        assert (folder / "task.toml").read_text() == before


def test_test_ids_are_written(write, once):
    folder = write(fail_to_pass=(), tests="pass_to_pass = []")
    (one,) = prove([folder], once, write_ids=True)
    assert one.is_valid
    assert tomllib.loads((folder / "task.toml").read_text())["tests"]["fail_to_pass"] == list(
        LISTED
    )


def test_solution_that_fixes_nothing_is_invalid(write, once):
    nothing, good = write("nothing", hidden="", fail_to_pass=()), write("good", fail_to_pass=())
    message = prove([nothing, good], once, write_ids=True)
    assert message[0].reasons[0].startswith("the reference solution makes no failing test pass")
    assert message[1].is_valid


def test_solution_in_the_paths_of_the_tests_is_refused(write, once):
    folder = write(fail_to_pass=(), paths=("tests", "basket.py"))
    (message,) = prove([folder], once, write_ids=True)
    assert message.reasons[0] == (
        "no file of the reference solution is judged: basket.py (a test of the task); [tests] "
        "paths must not contain what the solution changes"
    )


def test_no_folders_give_no_results(options):
    assert prove([], options) == []


def result_with(*reasons, **more):
    return ValidationResult(folder=Path("x"), task_id=TaskId("x"), reasons=reasons, **more)


def test_reasons_are_counted_by_their_kind_most_frequent_first():
    tasks = [
        result_with(),
        result_with("flaky: tests/a.py::b (25%)", "flaky: tests/a.py::c (50%)"),
        result_with("the reference solution ends in TESTS_FAILED: tests/a.py::b not passed"),
        result_with("the reference solution ends in TESTS_FAILED: tests/z.py::y not run"),
        result_with("out/a/task.toml: title: is missing"),
        result_with("the reference solution makes no failing test pass (x; y)"),
    ]
    assert invalid_reasons_text(tasks) == (
        "2 x the reference solution ends in TESTS_FAILED; 1 x flaky; 1 x its files are wrong; "
        "1 x the reference solution makes no failing test pass"
    )


def test_valid_tasks_give_no_reasons():
    assert invalid_reasons_text([result_with()]) == ""


def test_number_of_reason_kinds_is_limited():
    message = invalid_reasons_text([result_with(f"kind {letter}: x") for letter in "abcdefgh"])
    assert message.endswith("1 x kind f; 2 other reasons")


def with_controls(to_control, *, controlled, sealed, unsealed):
    return result_with(
        proof=TaskProof(
            faults=(),
            flaky=(),
            runs=2,
            controlled=controlled,
            sealed=sealed,
            unsealed=dict.fromkeys(unsealed, "line 5: it stays: `assert all(x)`"),
            to_control=to_control,
        )
    )


def test_files_without_blind_runs_are_told_by_their_reason():
    names = ["A", "B", "C", "D"]
    weak = [WeakControl(file=f"{n}.java", function="*", reason=f"{n}.java: why") for n in names]
    weak.append(WeakControl(file="a.go", function="TestA", reason="no value"))
    proof = TaskProof(faults=(), flaky=(), runs=2, weakly_controlled=tuple(weak))
    assert [*result_lines(result_with(proof=proof))] == [
        "weakly controlled: a.go::TestA: no value",
        "weakly controlled: A.java, B.java, C.java and 1 more: why",
    ]


def test_unsealed_test_is_a_warning():
    one = with_controls(3, controlled=("t", "u[1]"), sealed=("t",), unsealed=("u[1]", "u[2]"))
    assert [*result_lines(one)] == ["warning: not sealed: u: line 5: it stays: `assert all(x)`"]
    assert dict(one.controls) == {"sealed": 1, "blind": 1, "weak": 1}


def test_tests_with_one_reason_share_a_line():
    one = with_controls(3, controlled=(), sealed=(), unsealed=(*"tuvw", "u[1]"))
    why = "line 5: it stays: `assert all(x)`"
    assert [*result_lines(one)] == [f"warning: not sealed: t, u, v and 1 more: {why}"]


def test_controls_of_tasks_are_summed():
    sealed = with_controls(1, controlled=("t",), sealed=("t",), unsealed=())
    weak = with_controls(2, controlled=(), sealed=(), unsealed=("t", "u"))
    failed = with_controls(4, controlled=(), sealed=(), unsealed=())  # before any control run
    assert dict(all_controls([sealed, weak, failed])) == {"sealed": 1, "blind": 0, "weak": 2}


def test_leaks_follow_reasons():
    leak = Finding(rule="few-tests", severity=Severity.WARNING, where="a", what="b")
    assert list(result_lines(result_with("why", leaks=(leak,)))) == [
        "why",
        "warning: few-tests at a: b",
    ]


KEPT = "tests/test_basket.py::test_the_cheapest_is_found"


@pytest.fixture
def apart(tmp_path):
    def apart(rates, **changes):
        folder = SmallTask(**changes).write(tmp_path)
        message = quarantine_flaky_tests(folder, load_task(folder, mirrors=mirrors()), rates)
        load_task(folder, mirrors=mirrors())
        return message, tomllib.loads((folder / "task.toml").read_text())["tests"]

    return apart


def test_flaky_tests_leave_deciding_lists(apart):
    rates = {LISTED[0]: 1 / 3, KEPT: 0.5}
    message, tests = apart(rates, tests=f'pass_to_pass = ["{KEPT}"]')
    assert message is None
    assert tests["fail_to_pass"] == [LISTED[1]]
    assert tests["pass_to_pass"] == []
    assert tests["quarantined"] == [{"id": LISTED[0], "rate": 0.333}, {"id": KEPT, "rate": 0.5}]


def test_baseline_is_kept_when_tests_are_quarantined(apart):
    message, tests = apart({KEPT: 0.5})
    assert message is None
    assert tests["pass_to_pass"] == "baseline"
    assert tests["quarantined"] == [{"id": KEPT, "rate": 0.5}]


@pytest.mark.parametrize(
    ("rates", "changes", "why"),
    [
        (dict.fromkeys(LISTED, 0.5), {}, "every test to fix is flaky"),
        ({KEPT: 0.5}, {"fail_to_pass": ()}, "no test is listed"),
    ],
)
def test_impossible_quarantine_writes_nothing(apart, rates, changes, why):
    message, tests = apart(rates, **changes)
    assert why in message
    assert "quarantined" not in tests


def test_leaks_are_found_without_weak_controls(tmp_path):
    files = {**SmallTask().files, "basket.py.orig": FIXED}
    rules = {leak.rule for leak in find_leaks(small_task(tmp_path / "a", files=files), mirrors())}
    assert "solution-in-base" in rules
    assert "weak-control" not in rules


def test_clean_task_has_no_leaks(tmp_path):
    assert find_leaks(small_task(tmp_path / "a"), mirrors()) == ()
