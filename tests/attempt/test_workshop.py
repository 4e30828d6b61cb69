from threading import Event

from agentbench.attempt.resources import RunResources


def test_unless_told_otherwise_nothing_holds_attempts_back(workshop):
    made: RunResources = workshop(cancel=Event())
    made.breaker.suspect()
    made.breaker.require()
    assert made.settings.attempt_timeout is None


def test_two_blind_runs_at_least_go_on_at_a_time(workshop):
    slots = workshop().control_slots
    assert slots.acquire(blocking=False)
    assert slots.acquire(blocking=False)
