import pytest
from pydantic import ValidationError

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.record import SCHEMA_VERSION, AgentRecord, AttemptRecord, UsageRecord
from agentbench.scoring.evidence import AgentEnding
from tests.runs.records import resolved


def test_a_record_says_its_version():
    assert resolved().schema_version == SCHEMA_VERSION


def test_a_record_cannot_be_changed_nor_hold_what_nobody_knows():
    with pytest.raises(ValidationError):
        resolved().resolved = False
    with pytest.raises(ValidationError):
        AttemptRecord(**{**dict(resolved()), "surprise": 1})


def test_an_outcome_is_recorded_field_by_field():
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


def test_an_unknown_price_is_null_and_not_nothing():
    assert UsageRecord().cost_usd is None
    assert '"cost_usd":null' in UsageRecord(requests=3).model_dump_json()
