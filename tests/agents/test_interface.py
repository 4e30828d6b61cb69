import time
from dataclasses import replace
from datetime import timedelta

from agentbench.agents.interface import Budget


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_remaining_time_follows_clock_down_to_zero():
    clock = Clock()
    budget = Budget(
        timeout=timedelta(seconds=30), max_steps=1, max_cost_usd=0, clock=clock, started=100.0
    )
    assert budget.remaining() == timedelta(seconds=30)
    clock.now = 112.5
    assert budget.remaining() == timedelta(seconds=17.5)
    clock.now = 1000.0
    assert budget.remaining() == timedelta(0)


def test_limits_are_variables_and_a_sentence():
    budget = Budget(timeout=timedelta(minutes=30), max_steps=50, max_cost_usd=2)
    before = time.time()
    variables = budget.variables()
    left = int(variables.pop("AGENTBENCH_DEADLINE")) - before
    assert 1790 <= left <= 1801
    assert variables == {"AGENTBENCH_MAX_STEPS": "50", "AGENTBENCH_MAX_COST": "2"}
    assert budget.as_text().startswith("You have 30 minutes, 50 steps, and $2.00 for model calls")
    assert "90 seconds" in replace(budget, timeout=timedelta(seconds=90)).as_text()
