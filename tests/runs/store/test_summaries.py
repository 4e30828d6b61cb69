import pytest

from agentbench.attempt.record import UsageRecord
from agentbench.integrity.records import ControlKind
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.classification import Failure
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.runs.records import controls_of, crashed, failed, interrupted, lost, resolved


def test_the_tests_to_fix_are_counted_by_how_they_are_controlled():
    kinds = (ControlKind.SEALED, ControlKind.WEAK, ControlKind.SEALED)
    assert AttemptSummary.of(resolved(controls=controls_of(*kinds))).controls == (2, 0, 1)
    assert AttemptSummary.of(resolved()).controls == ()


def test_tokens_are_those_in_and_out_and_unknown_where_no_model_was_used():
    usage = UsageRecord(input_tokens=100, output_tokens=20, cached_tokens=50)
    assert AttemptSummary.of(resolved(usage=usage, model="m")).tokens == 120
    assert AttemptSummary.of(resolved()).tokens is None


def test_an_interrupt_is_told_from_other_faults_of_the_infrastructure():
    assert AttemptSummary.of(interrupted()).was_interrupted
    assert AttemptSummary.of(lost()).fault is Fault.INFRASTRUCTURE
    assert not AttemptSummary.of(lost()).was_interrupted


@pytest.mark.parametrize(
    ("make", "is_repeated"), [(lost, True), (interrupted, False), (failed, False)]
)
def test_only_infrastructure_failures_are_retried(make, is_repeated):
    assert AttemptSummary.of(make()).is_retryable is is_repeated


@pytest.mark.parametrize(
    ("attempt", "retry_of", "name"), [(1, None, "one/1"), (3, 2, "one/3.retry-2")]
)
def test_an_attempt_is_named_by_its_folder(attempt, retry_of, name):
    record = failed(attempt=attempt, retry_of=retry_of)
    assert AttemptSummary.of(record).folder_name == name


def test_an_agents_error_before_an_interruption_is_said_to_be_repeated():
    record = crashed()
    ending = Failure(
        stage=StageName.FINAL_TEST,
        reason=FailureReason.INTERRUPTED,
        fault=Fault.INFRASTRUCTURE,
        detail="the run was cancelled",
    )
    cut = record.replace(failures=(*record.failures, ending))
    assert record.failure_reason is not FailureReason.INTERRUPTED
    assert AttemptSummary.of(record).detail == record.detail
    said = f"interrupted, and repeated by resume: {record.detail}"
    assert AttemptSummary.of(cut).detail == said
