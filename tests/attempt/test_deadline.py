from datetime import timedelta
from threading import Event

from agentbench.attempt.deadline import AttemptDeadline


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Ticking(Event):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        self._clock.now += timeout or 0.0
        return self.is_set()


def cutoff() -> tuple[AttemptDeadline, Event, Clock]:
    clock = Clock()
    run = Ticking(clock)
    return AttemptDeadline(run, timedelta(seconds=5), clock), run, clock


def test_paused_time_does_not_count():
    made, _, clock = cutoff()
    with made.paused():
        clock.now += 1e9
        assert not made.is_set()
    assert not made.is_set()
    clock.now += 4.9
    assert not made.is_set()
    clock.now += 0.1
    assert made.is_set()
    assert made.is_late


def test_cancelled_run_is_not_late():
    made, run, clock = cutoff()
    run.set()
    clock.now += 10
    assert made.is_set()
    assert not made.is_late


def test_deadline_can_be_set_like_any_event():
    made, run, _ = cutoff()
    made.set()
    assert made.is_set()
    assert not run.is_set()


def test_wait_ends_with_the_deadline():
    made, _, clock = cutoff()
    assert made.wait(60)
    assert 105 <= clock.now < 106


def test_wait_ends_with_its_timeout():
    made, _, clock = cutoff()
    assert not made.wait(2)
    assert 102 <= clock.now < 103


def test_endless_wait_ends_with_the_run():
    made, run, _ = cutoff()
    run.set()
    assert made.wait()
