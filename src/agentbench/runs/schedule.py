"""Many attempts: as many at a time as there is room for, infrastructure failures retried."""

import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from threading import Event

from agentbench.runs.capacity import Capacity
from agentbench.runs.executors.interface import Ended, Executor
from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord
from agentbench.runs.waiting import Again, Waiting
from agentbench.scoring.evidence import StageName
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.tasks.task import Task

_LONGEST_BACK_OFF = 30.0  # seconds
# A signal that comes in the instant before Python begins to wait is answered only after the wait.
_WINK = 0.5  # seconds


def back_off(tries: int) -> float:
    """For how many seconds an attempt waits that failed so many times."""
    return random.uniform(0.0, min(_LONGEST_BACK_OFF, 2.0 ** (tries - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a run's attempts are made."""

    jobs: int
    retries: int
    capacity: Capacity
    cancel: Event
    max_cost_usd: float | None = None
    is_prepared: Callable[[Task], bool] = lambda _task: False
    """Whether a task was tried before, so that no attempt waits for another's set-up."""
    on_start: Callable[[Planned], None] = lambda _planned: None
    on_end: Callable[[AttemptRecord], None] = lambda _record: None
    back_off: Callable[[int], float] = back_off
    clock: Callable[[], float] = time.monotonic


def run_attempts(
    planned: Iterable[Planned], executor: Executor, schedule: Schedule
) -> Generator[AttemptRecord, None, None]:
    """Make every planned attempt; yields each one's last record as it ends.

    Stops starting attempts when the run is cancelled or has spent its money. Closing the
    iterator cancels what is under way.

    Raises:
        StorageError: what attempts leave could not be written.
        OutageError: what attempts need was away for too long.
    """
    scheduler = _Scheduler(planned, executor, schedule)
    with executor:
        try:
            while scheduler.goes_on():
                scheduler.start_what_fits()
                yield from scheduler.ended()
            yield from scheduler.given_up()
        finally:
            if scheduler.running:
                schedule.cancel.set()


def was_interrupted(record: AttemptRecord) -> bool:
    """Whether our own Ctrl-C cut an attempt off: such a one is made again by `resume`."""
    return any(
        failure.reason is FailureReason.INTERRUPTED and failure.fault is Fault.INFRASTRUCTURE
        for failure in record.failures
    )


class _Scheduler:
    """Starts attempts while there is room, and has those made again that were lost."""

    def __init__(self, planned: Iterable[Planned], executor: Executor, schedule: Schedule) -> None:
        self._executor = executor
        self._schedule = schedule
        self._capacity = schedule.capacity
        self._waiting = Waiting(planned, is_prepared=schedule.is_prepared)
        self._tries: Counter[tuple[str, int]] = Counter()  # of those that were lost
        self._spent = 0.0  # by every try, also one that is made again
        self.running = 0

    def goes_on(self) -> bool:
        """Whether anything runs, or may be started."""
        return self.running > 0 or (self._may_start() and not self._waiting.is_empty)

    def start_what_fits(self) -> None:
        """Fill the slots, as far as memory and cores allow."""
        while self._may_start() and self.running < self._schedule.jobs:
            planned = self._next()
            if planned is None:
                return
            self._schedule.on_start(planned)
            self._capacity.take(planned.task)
            self.running += 1
            self._executor.start(planned)

    def ended(self) -> Iterator[AttemptRecord]:
        """What has ended meanwhile, less what is made again; waits for a while."""
        for over in self._executor.ended(within=self._patience()):
            record, task = over.record, over.planned.task
            self.running -= 1
            self._capacity.give_back(task)
            self._waiting.ended(over.planned, prepared=_was_prepared(record))
            if record.usage is not None:
                self._spent += record.usage.cost_usd or 0.0
            if not self._is_made_again(over):
                self._schedule.on_end(record)
                yield record

    def given_up(self) -> Iterator[AttemptRecord]:
        """The last records of those that were to be made again when the run ended."""
        for again in self._waiting.give_up():
            yield again.last

    def _next(self) -> Planned | None:
        room = self._capacity.room()
        again = self._waiting.take_again(room, now=self._schedule.clock())
        if again is not None or self._waiting.to_retry > self._schedule.jobs:
            return again
        return self._waiting.take(room)

    def _may_start(self) -> bool:
        limit = self._schedule.max_cost_usd
        return (limit is None or self._spent < limit) and not self._schedule.cancel.is_set()

    def _is_made_again(self, over: Ended) -> bool:
        record, planned = over.record, over.planned
        attempt = (planned.task.id, planned.attempt)
        lost = record.fault is Fault.INFRASTRUCTURE and not was_interrupted(record)
        if not lost or self._tries[attempt] >= self._schedule.retries or not self._may_start():
            del self._tries[attempt]
            return False
        self._tries[attempt] += 1
        due = self._schedule.clock() + self._schedule.back_off(self._tries[attempt])
        self._waiting.put_back(Again(due=due, planned=planned, last=record))
        return True

    def _patience(self) -> float:
        due = self._waiting.next_due
        if due is None:
            return _WINK
        return min(_WINK, max(0.0, due - self._schedule.clock()))


def _was_prepared(record: AttemptRecord) -> bool:
    return any(stage.name is StageName.BASELINE_RUN for stage in record.stages)
