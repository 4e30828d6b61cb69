from threading import Event

from agentbench.attempt.resources import RunResources


def test_unless_told_otherwise_nothing_holds_attempts_back(workshop):
    made: RunResources = workshop(cancel=Event())
    made.breaker.suspect()
    made.breaker.require()
    assert made.settings.attempt_timeout is None
