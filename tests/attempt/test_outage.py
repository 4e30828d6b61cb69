import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest

from agentbench.attempt.outages import CircuitBreaker, Requirement
from agentbench.errors import OutageError, StorageError
from tests.patience import HANG_SECONDS

AWAY = "the engine does not answer"
PATIENT = timedelta(minutes=1)


class Clockless(Event):
    """An event that nobody waits for."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        return self.is_set()


class Scripted:
    """What is wrong at one look after the other; nothing after the last."""

    def __init__(self, *faults: str | None) -> None:
        self.faults = list(faults)
        self.looks = 0

    def __call__(self) -> str | None:
        self.looks += 1
        return self.faults.pop(0) if self.faults else None


def need(fault, *, patience: timedelta = PATIENT, costly: bool = False) -> Requirement:
    return Requirement(fault=fault, patience=patience, costly=costly)


def breaker(*needs: Requirement, cancel: Event | None = None) -> tuple[CircuitBreaker, list[str]]:
    said: list[str] = []
    return CircuitBreaker(needs, cancel=cancel or Clockless(), say=said.append), said


def test_nothing_is_said_while_all_is_there():
    made, said = breaker(need(Scripted()))
    made.require()
    assert said == []


def test_an_outage_is_said_once_and_its_end_too():
    made, said = breaker(need(Scripted(AWAY, AWAY, AWAY, AWAY)))
    made.require()
    paused, going_on = said
    assert paused == f"paused: {AWAY}; continues when fixed, or ends in 60 s (Ctrl-C: now)"
    assert going_on.startswith("continuing after ")


def test_all_who_come_in_an_outage_wait_for_one_and_the_same():
    back = threading.Event()
    looking = threading.Event()

    def fault() -> str | None:
        if not looking.is_set():
            looking.set()
            return AWAY
        return None if back.wait(0.01) else AWAY

    made, said = breaker(need(fault, patience=timedelta(days=1)))
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(made.require) for _ in range(4)]
        assert looking.wait(HANG_SECONDS)
        assert not any(each.done() for each in waiting)
        back.set()
        for each in waiting:
            each.result(HANG_SECONDS)
    assert len(said) == 2


def test_an_outage_that_lasts_too_long_ends_it_for_all():
    fault = Scripted(*[AWAY] * 9)
    made, said = breaker(need(fault, patience=timedelta(0)))
    with pytest.raises(
        OutageError, match=f"{AWAY}; fix this, then continue with `agentbench resume`"
    ):
        made.require()
    looks = fault.looks
    with pytest.raises(OutageError):
        made.require()
    assert fault.looks == looks
    assert said == []  # with no patience at all there is no pause to speak of


def test_a_cancelled_run_waits_for_nothing():
    cancel = Clockless()
    made, said = breaker(need(Scripted(*[AWAY] * 9)), cancel=cancel)
    cancel.set()
    made.require()
    assert said == []


def test_a_run_that_is_cancelled_in_an_outage_ends_the_pause():
    cancel = Clockless()

    def fault() -> str | None:
        if said:
            cancel.set()
        return AWAY

    made, said = breaker(need(fault), cancel=cancel)
    made.require()
    assert len(said) == 1


def test_what_costs_money_is_asked_only_after_a_failure():
    model = Scripted()
    made, _ = breaker(need(model, costly=True))
    made.require()
    assert model.looks == 0
    made.suspect()
    made.require()
    made.require()
    assert model.looks == 1


def test_a_refused_write_is_made_again_when_there_is_room():
    disk = Scripted("full", "full")
    made, said = breaker(need(disk))
    results = [StorageError("full"), "written"]

    def write() -> str:
        result = results.pop(0)
        if isinstance(result, StorageError):
            raise result
        return result

    assert made.written(write) == "written"
    assert len(said) == 2


def test_a_write_that_is_refused_although_there_is_room_says_so():
    made, _ = breaker(need(Scripted()))

    def write() -> None:
        raise StorageError("read-only file system")

    with pytest.raises(StorageError, match="read-only"):
        made.written(write)
