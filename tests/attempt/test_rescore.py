from hypothesis import given

from agentbench.attempt.record import AttemptRecord, rejudge, rescore
from agentbench.taxonomy import FailureReason
from tests.runs.records import failed, record_of, records, resolved


@given(records())
def test_judging_again_from_the_record_alone_changes_nothing(record):
    assert rescore(record) == record


@given(records())
def test_not_even_after_the_record_was_on_disk(record):
    read = AttemptRecord.model_validate_json(record.model_dump_json())
    assert read == record
    assert rescore(read) == record


def test_a_verdict_that_was_changed_by_hand_is_put_right():
    changed = failed().replace(resolved=True, failure_reason=None)
    assert rescore(changed) == failed()
    assert rejudge(changed).failure_reason is FailureReason.TESTS_FAILED


def test_what_is_no_part_of_the_verdict_stays():
    record = resolved(model="m", warnings=("odd",), attempt=7)
    assert rescore(record.replace(resolved=False)) == record


def test_a_record_of_no_stage_can_be_judged():
    record = record_of(())
    assert record.failure_reason is FailureReason.UNKNOWN
    assert rescore(record) == record
