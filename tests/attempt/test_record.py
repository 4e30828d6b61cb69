from hypothesis import given

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.record import AgentRecord, AttemptRecord, UsageRecord, rejudge, rescore
from agentbench.scoring.evidence import AgentEnding
from agentbench.taxonomy import FailureReason
from tests.runs.records import failed, record_of, records, resolved


def test_outcome_is_recorded_field_by_field():
    outcome = AgentOutcome(
        ending=AgentEnding.STEP_LIMIT,
        detail="gave up",
        steps=1,
        tool_calls=2,
        tool_errors_recovered=3,
        test_runs=4,
    )
    assert AgentRecord.model_validate(outcome, from_attributes=True) == AgentRecord(
        ending=AgentEnding.STEP_LIMIT,
        detail="gave up",
        steps=1,
        tool_calls=2,
        tool_errors_recovered=3,
        test_runs=4,
    )


def test_unknown_price_is_null():
    assert UsageRecord().cost_usd is None
    assert '"cost_usd":null' in UsageRecord(requests=3).model_dump_json()


@given(records())
def test_rescored_record_is_unchanged(record):
    assert rescore(record) == record


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
