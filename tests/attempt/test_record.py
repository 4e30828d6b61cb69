from hypothesis import given

from agentbench.attempt.record import AttemptRecord, rejudge, rescore
from agentbench.taxonomy import FailureReason
from tests.runs.records import failed, record_of, records, resolved


@given(records())
def test_stored_record_is_unchanged_by_rescoring(record):
    read = AttemptRecord.model_validate_json(record.model_dump_json())
    assert read == record
    assert rescore(read) == record


def test_edited_verdict_is_corrected():
    changed = failed().replace(resolved=True, failure_reason=None)
    assert rescore(changed) == failed()
    assert rejudge(changed).failure_reason is FailureReason.TESTS_FAILED


def test_rescoring_keeps_other_fields():
    record = resolved(model="m", warnings=("odd",), attempt=7)
    assert rescore(record.replace(resolved=False)) == record


def test_record_without_stages_is_judged():
    record = record_of(())
    assert record.failure_reason is FailureReason.UNKNOWN
    assert rescore(record) == record
