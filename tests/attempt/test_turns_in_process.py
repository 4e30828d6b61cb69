"""The order in which the attempts of one process are judged."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Event

import pytest

from agentbench.attempt.turns import Turns
from agentbench.errors import RunCancelled
from tests.patience import HANG_SECONDS, wait_until

TASK = "one"


def no_wait(_seconds: float) -> None:
    return


class Attempt:
    """An attempt in a thread of its own that asks for a turn, and has it until it is told."""

    def __init__(self, pool: ThreadPoolExecutor, turn: AbstractContextManager[None]) -> None:
        self.has_turn, self._end = Event(), Event()
        self._work: Future[None] = pool.submit(self._have, turn)

    def end(self) -> None:
        self._end.set()
        self._work.result(HANG_SECONDS)

    def _have(self, turn: AbstractContextManager[None]) -> None:
        with turn:
            self.has_turn.set()
            assert self._end.wait(HANG_SECONDS)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


@pytest.fixture
def asked(pool: ThreadPoolExecutor) -> Callable[..., Attempt]:
    """Makes an attempt that waits for its turn, or has it."""

    def ask(turns: Turns, kind: str, *, task: str = TASK) -> Attempt:
        waits = Event()
        attempt = Attempt(pool, getattr(turns, kind)(task, lambda _seconds: waits.set()))
        wait_until(lambda: waits.is_set() or attempt.has_turn.is_set())
        return attempt

    return ask


@contextmanager
def nobody_waits_for_ever(*attempts: Attempt) -> Iterator[None]:
    try:
        yield
    finally:
        for attempt in attempts:
            attempt.end()


def test_a_turn_alone_is_alone(asked: Callable[..., Attempt]) -> None:
    turns = Turns(at_a_time=2)
    first = asked(turns, "alone")
    second, third = asked(turns, "alone"), asked(turns, "sharing")
    with nobody_waits_for_ever(first, second, third):
        assert first.has_turn.is_set()
        assert not second.has_turn.is_set()
        assert not third.has_turn.is_set()


def test_final_tests_share_a_turn(asked: Callable[..., Attempt]) -> None:
    turns = Turns(at_a_time=2)
    sharing = [asked(turns, "sharing") for _ in range(3)]
    alone = asked(turns, "alone")
    with nobody_waits_for_ever(*sharing, alone):
        assert all(each.has_turn.is_set() for each in sharing)
        assert not alone.has_turn.is_set()


def test_one_final_test_lets_a_waiting_sealed_run_go_first(asked: Callable[..., Attempt]) -> None:
    turns = Turns(at_a_time=2)
    first = asked(turns, "alone")
    sealed, final = asked(turns, "alone"), asked(turns, "sharing")
    first.end()
    with nobody_waits_for_ever(sealed, final):
        assert sealed.has_turn.wait(HANG_SECONDS)
        assert not final.has_turn.is_set()


def test_as_many_final_tests_as_processors_go_first(asked: Callable[..., Attempt]) -> None:
    turns = Turns(at_a_time=2)
    first = asked(turns, "alone")
    sealed = asked(turns, "alone")
    finals = [asked(turns, "sharing"), asked(turns, "sharing")]
    first.end()
    with nobody_waits_for_ever(*finals, sealed):
        assert all(each.has_turn.wait(HANG_SECONDS) for each in finals)
        assert not sealed.has_turn.is_set()


def test_every_attempt_gets_its_turn(pool: ThreadPoolExecutor) -> None:
    turns, at_work = Turns(at_a_time=2), {"alone": 0, "sharing": 0}

    def attempt(_number: int) -> bool:
        with turns.alone(TASK, no_wait):
            at_work["alone"] += 1
            is_alone = at_work == {"alone": 1, "sharing": 0}
            at_work["alone"] -= 1
        with turns.sharing(TASK, no_wait):
            return is_alone and at_work["alone"] == 0

    assert all(pool.map(attempt, range(200)))


def test_other_tasks_have_turns_of_their_own(asked: Callable[..., Attempt]) -> None:
    turns = Turns(at_a_time=2)
    one, two = asked(turns, "alone"), asked(turns, "alone", task="two")
    with nobody_waits_for_ever(one, two):
        assert two.has_turn.is_set()


@pytest.mark.parametrize("kind", ["alone", "sharing"])
def test_a_wait_can_be_cancelled(asked: Callable[..., Attempt], kind: str) -> None:
    def cancelled(_seconds: float) -> None:
        raise RunCancelled

    turns = Turns(at_a_time=1)
    first = asked(turns, "alone")
    with pytest.raises(RunCancelled), getattr(turns, kind)(TASK, cancelled):
        pass
    first.end()
    with turns.alone(TASK, no_wait), pytest.raises(RunCancelled), turns.sharing(TASK, cancelled):
        pass
    with turns.sharing(TASK, no_wait):
        pass
