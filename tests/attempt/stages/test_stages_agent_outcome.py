import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.agent_work.agent_outcome import checked_outcome
from agentbench.models.interface import ModelUsage
from agentbench.scoring.evidence import AgentEnding
from tests.scoring.strategies import command

GOOD = AgentOutcome(
    ending=AgentEnding.SUBMITTED,
    detail="done",
    command=command(0),
    steps=3,
    usage=ModelUsage(requests=2, cost_usd=0.5),
)


@pytest.mark.parametrize("outcome", [GOOD, AgentOutcome(ending=AgentEnding.STEP_LIMIT)])
def test_an_outcome_as_it_should_be_comes_back_as_it_is(outcome):
    assert checked_outcome(outcome) == outcome


@pytest.mark.parametrize("nonsense", [None, "done", 0, {"ending": "submitted"}, AgentOutcome])
def test_anything_else_is_named(nonsense):
    with pytest.raises(TypeError, match=f"found {type(nonsense).__name__}"):
        checked_outcome(nonsense)


def test_the_word_for_an_ending_is_taken_for_it():
    assert checked_outcome(replace(GOOD, ending="submitted")) == GOOD


@pytest.mark.parametrize(
    "wrong",
    [
        {"ending": "won"},
        {"detail": 3},
        {"steps": "many"},
        {"steps": None},
        {"command": "ls"},
        {"usage": 0.5},
        {"usage": ModelUsage(requests="x")},
    ],
)
def test_a_field_of_another_type_is_refused(wrong):
    with pytest.raises(ValidationError):
        checked_outcome(replace(GOOD, **wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"usage": ModelUsage(cost_usd=-0.1)},
        {"usage": ModelUsage(cost_usd=math.nan)},
        {"usage": ModelUsage(cost_usd=-math.inf)},
        {"usage": ModelUsage(input_tokens=-5)},
    ],
)
def test_an_amount_is_a_number_and_not_negative(wrong):
    with pytest.raises(ValueError, match="negative or not a number"):
        checked_outcome(replace(GOOD, **wrong))


def test_a_price_that_is_not_known_stays_unknown():
    outcome = replace(GOOD, usage=ModelUsage(cost_usd=None))
    assert checked_outcome(outcome) == outcome


def test_a_detail_can_be_kept_whatever_is_in_it():
    outcome = checked_outcome(replace(GOOD, detail="\udce9" + "x" * 10_000))
    assert outcome.detail.startswith("?x")
    assert len(outcome.detail) == 4096
