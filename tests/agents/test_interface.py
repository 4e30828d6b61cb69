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
