import time
from datetime import timedelta

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.scoring.evidence import AgentEnding


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_budget_runs_down_with_its_clock_and_not_below_zero():
    clock = Clock()
    budget = Budget(
        timeout=timedelta(seconds=30), max_steps=1, max_cost_usd=0, clock=clock, started=100.0
    )
    assert budget.remaining() == timedelta(seconds=30)
    clock.now = 112.5
    assert budget.remaining() == timedelta(seconds=17.5)
    clock.now = 1000.0
    assert budget.remaining() == timedelta(0)


def test_a_budget_starts_when_it_is_made():
    before = time.monotonic()
    budget = Budget(timeout=timedelta(hours=1), max_steps=1, max_cost_usd=0)
    assert before <= budget.started <= time.monotonic()
    assert timedelta(0) < budget.remaining() <= timedelta(hours=1)


def test_an_outcome_claims_no_more_than_how_it_ended():
    outcome = AgentOutcome(ending=AgentEnding.SUBMITTED)
    assert (outcome.detail, outcome.command, outcome.usage) == ("", None, None)
    assert (outcome.steps, outcome.tool_calls, outcome.test_runs) == (0, 0, 0)
