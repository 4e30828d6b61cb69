import shlex
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.runs.options import RunOptions
from agentbench.scoring.evidence import CaseOutcome, Evidence
from agentbench.validation.task_proof import (
    deciding_tests,
    find_deciding_tests,
    flake_rates,
    prove,
    run_proofs,
    run_to_end,
    worst_rates,
)
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, SmallTask, patch_of
from tests.fakes.staging import local_provider, small_task
from tests.runs.records import failed, record_of, resolved
from tests.scoring.strategies import A, B, C, attempt, case, expecting, ran
from tests.validation.test_task_validation import follow

pytestmark = pytest.mark.full

PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED


def test_flake_rate_is_share_of_minority_outcomes():
    runs = [{"a": PASSED, "b": PASSED}, {"a": FAILED, "b": PASSED}, {"a": PASSED, "b": PASSED}]
    assert flake_rates([*runs, {"a": PASSED, "b": PASSED}]) == {"a": 0.25}


def test_missing_test_has_another_outcome():
    assert flake_rates([{"a": PASSED, "b": PASSED}, {"a": PASSED}]) == {"b": 0.5}


def test_run_without_tests_is_ignored():
    assert flake_rates([{"a": PASSED}, {}]) == {}


def test_highest_rate_counts():
    assert worst_rates({"a": 0.1, "b": 0.5}, {"a": 0.3}) == {"a": 0.3, "b": 0.5}


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from([PASSED, FAILED])), max_size=6)
)
def test_rates_are_between_0_and_1(runs):
    rates = flake_rates(runs)
    known = [run for run in runs if run]
    assert all(0 < rate < 1 for rate in rates.values())
    assert set(rates) == {n for n in "abc" if len({run.get(n) for run in known}) > 1}


BEFORE = ran(case(A, "failed"), case(B))
AFTER = ran(case(A), case(B))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return small_task(tmp_path_factory.mktemp("proof") / "small", fail_to_pass=(A,))


def noop(final: Evidence = BEFORE, baseline: Evidence = BEFORE, **more):
    return record_of(attempt(final, baseline), **more)


def test_expected_records_prove_a_task(task):
    proof = prove(task, [resolved(), resolved()], [noop(), noop()])
    assert (proof.faults, proof.flaky, proof.runs) == ((), (), 4)


@pytest.mark.parametrize(
    ("oracle", "nothing", "fault"),
    [
        ([failed()], [noop()], "the reference solution ends in TESTS_FAILED: "),
        ([resolved()], [noop(AFTER)], "an agent that does nothing resolves it"),
        (
            [resolved()],
            [record_of(attempt(ran(case(A), case(B, "failed"))))],
            f"passes without a fix, though listed as fail_to_pass: {A}",
        ),
        ([resolved(warnings=("no fail_to_pass test ran",))], [noop()], "no fail_to_pass test ran"),
        ([], [noop()], "not every attempt was made"),
        ([resolved()], [], "not every attempt was made"),
    ],
)
def test_unexpected_records_give_faults(task, oracle, nothing, fault):
    proof = prove(task, oracle, nothing)
    assert any(message.startswith(fault) for message in proof.faults), proof.faults


def test_equal_faults_are_reported_once(task):
    assert len(prove(task, [failed(), failed()], [noop()]).faults) == 1


def test_test_that_differs_between_runs_is_flaky(task):
    other = record_of(attempt(ran(case(A), case(B), case(C, "skipped")), BEFORE))
    proof = prove(task, [resolved(), other], [noop()])
    assert proof.flaky == (C,)
    before = prove(task, [resolved()], [noop(), noop(ran(case(A, "failed"), case(B, "failed")))])
    assert before.flaky == (B,)
    assert before.flake_rates == {B: pytest.approx(1 / 5)}


def test_a_quarantined_test_is_not_flaky_again(task):
    key = task.answer_key.replace(quarantined=(C,))
    other = record_of(attempt(ran(case(A), case(B), case(C, "skipped")), BEFORE))
    apart = task.replace(answer_key=key)
    assert prove(apart, [resolved(), other], [noop()]).flaky == ()


def test_durations_are_medians(task):
    records = [resolved(), resolved(), noop()]
    stages = [stage for record in records for stage in record.stages]
    proof = prove(task, records[:2], records[2:])
    assert set(proof.seconds) == {stage.name for stage in stages if not stage.cached}
    assert proof.peak_memory_mib is None


def test_runs_without_report_are_ignored(task):
    lost = record_of(attempt(AFTER)[:3])
    assert prove(task, [resolved(), lost], [noop()]).flaky == ()


def test_deciding_tests_are_found_from_both_runs():
    runs = [record_of(attempt(AFTER, BEFORE), expecting((), ())) for _ in range(2)]
    assert deciding_tests(runs).fail_to_pass == (A,)
    assert deciding_tests(runs).pass_to_pass == (B,)


def test_new_test_is_a_test_to_fix():
    ids = deciding_tests([record_of(attempt(ran(case(A), case(C)), BEFORE))])
    assert ids.fail_to_pass == (A, C)
    assert ids.pass_to_pass == ()


def test_skipped_test_is_in_no_list():
    before = ran(case(A, "failed"), case(B), case(C, "skipped"))
    ids = deciding_tests([record_of(attempt(ran(case(A), case(B), case(C)), before))])
    assert (ids.fail_to_pass, ids.pass_to_pass) == ((A,), (B,))


def test_flaky_and_failing_tests_are_in_no_list():
    flaky = [
        record_of(attempt(ran(case(A), case(B), case(C)), BEFORE)),
        record_of(attempt(ran(case(A), case(B), case(C, "failed")), BEFORE)),
    ]
    assert C not in (*deciding_tests(flaky).fail_to_pass, *deciding_tests(flaky).pass_to_pass)
    assert deciding_tests(flaky).flake_rates == {C: 0.5}
    ids = deciding_tests([record_of(attempt(ran(case(A, "failed"), case(B)), BEFORE))])
    assert ids.fail_to_pass == ()


def test_no_runs_give_no_deciding_tests():
    assert deciding_tests([]).fail_to_pass == ()


def options_of(tmp_path):
    return RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")


def test_each_task_is_run_by_oracle_and_noop(tmp_path):
    tasks = {tmp_path / name: small_task(tmp_path / name) for name in "ab"}
    options = options_of(tmp_path)
    output = run_proofs(tasks, options, follow)
    assert [(path.name, one.runs, one.faults, one.flaky) for path, one in output.items()] == [
        ("a", 2, (), ()),
        ("b", 2, (), ()),
    ]
    assert all(one.sandbox == local_provider().name for one in output.values())
    assert not any(one.undecided for one in output.values())
    (validation,) = options.runs_dir.iterdir()
    assert validation.name == "validation"
    names = sorted(folder.name for folder in validation.iterdir())
    assert [name.rpartition("-")[2] for name in names] == ["noop", "oracle"]
    assert all(name.startswith("validate-") for name in names)


def test_infrastructure_error_leaves_task_undecided(tmp_path):
    lost = small_task(tmp_path / "lost", environment="memory_mib = 64\ndisk_mib = 64\nfiles = 1000")
    (tmp_path / "lost" / "tests.patch").write_text("")
    hidden = small_task(tmp_path / "big", hidden=f"DATA = '''{'x' * (80 << 20)}'''\n")
    big = hidden.replace(environment=lost.environment)
    options = options_of(tmp_path).replace(retries=0)
    output = run_proofs({tmp_path / "big": big}, options, follow)
    records = run_to_end([big], options.replace(agent="noop"), follow).records
    (one,) = output.values()
    assert one.undecided == any(record.fault == "infrastructure" for record in records)
    assert one.faults


def test_records_are_those_of_the_task(tmp_path):
    tasks = [small_task(tmp_path / name) for name in "ab"]
    created = run_to_end(tasks, options_of(tmp_path).replace(agent="oracle"), follow)
    assert [record.task_id for record in created.of(tasks[1])] == ["b"]


WRONG_FIX = patch_of("basket.py", BUGGY, FIXED.replace("min(", "max("))
COVERED = """diff --git a/tests/helper.py b/tests/helper.py
new file mode 100644
--- /dev/null
+++ b/tests/helper.py
@@ -0,0 +1 @@
+X = 1
"""


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (  # a regression
            {"solution": WRONG_FIX},
            [
                "tests/test_basket.py::test_the_cheapest_is_found passed before the change and "
                "fails now (a regression).",
                "assertion: tests/test_basket.py:5: assert basket.cheapest([3, 1, 2]) == 1",
                "expected: 1",
                "actual: 3",
            ],
        ),
        (  # a test to fix that the solution does not fix
            {"hidden": HIDDEN.replace("== 6", "== 7")},
            [
                "tests/test_hidden.py::test_every_price_counts still fails.",
                "assertion: tests/test_hidden.py:5: assert basket.total([1, 2, 3]) == 7",
                "expected: 7",
                "actual: 6",
            ],
        ),
        (  # a file of the solution that the task protects
            {"solution": COVERED},
            [
                "the reference solution's change to tests/helper.py is not judged: a test of the "
                "task; [tests] paths or protected cover it",
            ],
        ),
        (
            {"tests": 'pass_to_pass = "baseline"\nprotected = ["basket.py"]'},
            [
                "the reference solution's change to basket.py is not judged: protected by the "
                "task; [tests] paths or protected cover it",
            ],
        ),
        ({"setup": 'commands = ["echo no wheel; exit 3"]'}, ["last output: no wheel"]),
    ],
)
def test_an_invalid_task_is_explained_with_its_test_and_its_run(tmp_path, changes, lines):
    task = small_task(tmp_path / "a", **changes)
    (proof,) = run_proofs({tmp_path / "a": task}, options_of(tmp_path), follow).values()
    assert set(lines) <= set(proof.explanation)
    output = proof.explanation[-1].removeprefix("its run: ")
    words = shlex.split(output)
    assert words[:2] == ["agentbench", "show"]
    assert (Path(words[2]) / "attempts" / words[3] / "1").is_dir()


def test_listed_test_that_no_run_has_is_a_fault(tmp_path):
    task = small_task(tmp_path / "a", fail_to_pass=(*LISTED, "tests/test_basket.py::test_gone"))
    (proof,) = run_proofs({tmp_path / "a": task}, options_of(tmp_path), follow).values()
    what = "fail_to_pass lists what no run has; --write-ids finds the ids: "
    assert f"{what}tests/test_basket.py::test_gone" in proof.faults


def test_deciding_tests_are_written_or_failures_reported(tmp_path):
    messages = []
    tasks = {tmp_path / name: small_task(tmp_path / name, fail_to_pass=()) for name in "ab"}
    tasks[tmp_path / "c"] = small_task(tmp_path / "c", hidden="")
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs", say=messages.append)
    faults = find_deciding_tests(tasks, options, follow)
    assert list(faults) == [tmp_path / "c"]
    messages = [one for one in messages if not one.startswith("removed remains of a killed run")]
    assert messages == [f"{tmp_path / n}/task.toml: 2 fail_to_pass ids written" for n in "ab"]
    written = tomllib.loads((tmp_path / "a" / "task.toml").read_text())["tests"]
    assert written["fail_to_pass"] == list(LISTED)


VISIBLE_TESTS = [
    "tests/test_basket.py::test_the_cheapest_is_found",
    "tests/test_basket.py::test_an_empty_basket_costs_nothing",
]


def found_beside(tmp_path, more):
    """What is listed for a task with one more test file, and what is said of it."""
    messages = []
    files = {**SmallTask().files, "tests/test_more.py": more}
    task = small_task(tmp_path / "a", fail_to_pass=(), tests="pass_to_pass = []", files=files)
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs", say=messages.append)
    assert find_deciding_tests({tmp_path / "a": task}, options, follow) == {}
    written = tomllib.loads((tmp_path / "a" / "task.toml").read_text())["tests"]
    assert written["fail_to_pass"] == list(LISTED)
    return written["pass_to_pass"], messages


def test_unimportable_test_file_hides_no_other(tmp_path):
    stored, messages = found_beside(tmp_path, "import nothing_of_that_name\n")
    assert stored == VISIBLE_TESTS
    assert messages[-1].endswith("task.toml: 2 fail_to_pass and 2 pass_to_pass ids written")


def test_hidden_files_run_if_the_suite_does_not(tmp_path):
    stored, messages = found_beside(tmp_path, "import os\nos._exit(3)\n")
    assert stored == []
    assert "a: running only the test files that the hidden tests change" in messages


def test_no_tasks_start_no_run(tmp_path):
    options = RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")
    assert find_deciding_tests({}, options, follow) == {}
    assert not (tmp_path / "runs").exists()
