import pytest

from agentbench.scoring.evidence import Evidence
from agentbench.validation.task_proof import deciding_tests, prove
from tests.fakes.staging import small_task
from tests.runs.records import failed, record_of, resolved
from tests.scoring.strategies import A, B, C, attempt, case, expecting, ran

BEFORE = ran(case(A, "failed"), case(B))
AFTER = ran(case(A), case(B))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return small_task(tmp_path_factory.mktemp("proof") / "small", fail_to_pass=(A,))


def noop(final: Evidence = BEFORE, baseline: Evidence = BEFORE, **more):
    return record_of(attempt(final, baseline), **more)


def test_a_task_that_does_what_it_should_is_valid(task):
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
def test_a_task_that_does_not_says_what_is_wrong(task, oracle, nothing, fault):
    proof = prove(task, oracle, nothing)
    assert any(said.startswith(fault) for said in proof.faults), proof.faults


def test_the_same_fault_is_said_once(task):
    assert len(prove(task, [failed(), failed()], [noop()]).faults) == 1


def test_a_test_that_differs_between_equal_runs_is_flaky(task):
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


def test_what_stages_took_is_told_as_medians(task):
    records = [resolved(), resolved(), noop()]
    stages = [stage for record in records for stage in record.stages]
    proof = prove(task, records[:2], records[2:])
    assert set(proof.seconds) == {stage.name for stage in stages if not stage.cached}
    assert proof.peak_memory_mib is None


def test_runs_without_a_report_are_not_held_against_the_others(task):
    lost = record_of(attempt(AFTER)[:3])
    assert prove(task, [resolved(), lost], [noop()]).flaky == ()


def test_ids_are_found_by_running_before_and_after():
    runs = [record_of(attempt(AFTER, BEFORE), expecting((), ())) for _ in range(2)]
    assert deciding_tests(runs).fail_to_pass == (A,)
    assert deciding_tests(runs).pass_to_pass == (B,)


def test_a_test_that_was_not_there_before_is_one_to_fix():
    ids = deciding_tests([record_of(attempt(ran(case(A), case(C)), BEFORE))])
    assert ids.fail_to_pass == (A, C)
    assert ids.pass_to_pass == ()


def test_a_test_that_is_skipped_before_and_passes_after_is_listed_nowhere():
    before = ran(case(A, "failed"), case(B), case(C, "skipped"))
    ids = deciding_tests([record_of(attempt(ran(case(A), case(B), case(C)), before))])
    assert (ids.fail_to_pass, ids.pass_to_pass) == ((A,), (B,))


def test_flaky_and_failing_tests_are_listed_nowhere():
    flaky = [
        record_of(attempt(ran(case(A), case(B), case(C)), BEFORE)),
        record_of(attempt(ran(case(A), case(B), case(C, "failed")), BEFORE)),
    ]
    assert C not in (*deciding_tests(flaky).fail_to_pass, *deciding_tests(flaky).pass_to_pass)
    assert deciding_tests(flaky).flake_rates == {C: 0.5}
    ids = deciding_tests([record_of(attempt(ran(case(A, "failed"), case(B)), BEFORE))])
    assert ids.fail_to_pass == ()


def test_without_a_run_there_are_no_ids():
    assert deciding_tests([]).fail_to_pass == ()
