"""Starts as many parallel attempts as capacity allows, and retries infrastructure failures."""

import heapq
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import Self

from agentbench.attempt.record import AttemptRecord
from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.runs.executors import Executor, FinishedAttempt
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.summaries import counts_as_failure, was_interrupted
from agentbench.tasks.task import Task, TaskEnvironment
from agentbench.taxonomy import Fault, StageName

_ATTEMPTS_PER_CORE = 2
"""Measured on two cores: four parallel attempts halve the total time, eight gain nothing more."""
_AHEAD = 256
"""The most attempts that are searched for one that may start, and the most skips of the first."""
_LONGEST_BACK_OFF = 30.0  # seconds
# A signal that arrives just before Python begins to wait is handled only after the wait.
_POLL = 0.5  # seconds


def cores_for_attempts() -> int:
    """The cores that attempts may declare in all, since each of them waits much of its time."""
    return _ATTEMPTS_PER_CORE * available_cpus()


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCapacity:
    """The cores and memory that are free now."""

    cpus: float
    memory_mib: float
    is_all: bool  # nothing runs

    def holds(self, task: Task) -> bool:
        """Whether an attempt at a task may start; if no other one runs, it always may."""
        needs, cpus = task.environment, task.environment.total_cpus
        return self.is_all or (cpus <= self.cpus and needs.total_memory_mib <= self.memory_mib)


@dataclass(slots=True, kw_only=True)
class Capacity:
    """Cores and memory, minus those that the tasks of running attempts declare. For one thread.

    Attempts may use less than they declare. Declared limits are counted; in addition, the memory
    must really be free when an attempt starts.
    """

    cpus: float  # that are free
    memory_mib: float
    available: Callable[[], int | None] = lambda: None  # the memory that is free now, if known
    _running: int = 0

    @classmethod
    def of_host(
        cls,
        tasks: Sequence[Task],
        jobs: int,
        available: Callable[[], int | None] = available_memory_mib,
    ) -> Self:
        """This machine's capacity, but at least `jobs` times the needs of the smallest task."""
        free = available()
        smallest = smallest_needs(tasks)
        return cls(
            cpus=max(cores_for_attempts(), jobs * smallest.cpus),
            memory_mib=max(free or float("inf"), jobs * smallest.memory_mib),
            available=available,
        )

    def free_capacity(self) -> FreeCapacity:
        """The cores and memory that are free now."""
        available = self.available() if self._running else None
        return FreeCapacity(
            cpus=self.cpus,
            memory_mib=self.memory_mib if available is None else min(self.memory_mib, available),
            is_all=not self._running,
        )

    def take(self, task: Task) -> None:
        """Count a starting attempt at a task."""
        self._running += 1
        self.cpus -= task.environment.total_cpus
        self.memory_mib -= task.environment.total_memory_mib

    def give_back(self, task: Task) -> None:
        """Count its end."""
        self._running -= 1
        self.cpus += task.environment.total_cpus
        self.memory_mib += task.environment.total_memory_mib


def fitting_jobs(tasks: Sequence[Task]) -> int:
    """The number of parallel attempts for this machine, if all were like the smallest one."""
    smallest = smallest_needs(tasks)
    by_cores = cores_for_attempts() / smallest.cpus
    memory = available_memory_mib()
    by_memory = memory / smallest.memory_mib if memory is not None else by_cores
    return max(1, int(min(by_cores, by_memory)))


def smallest_needs(tasks: Sequence[Task]) -> TaskEnvironment:
    """The smallest declared value of each resource; the defaults without tasks."""
    usual = TaskEnvironment()
    return TaskEnvironment(
        cpus=min((task.environment.total_cpus for task in tasks), default=usual.cpus),
        memory_mib=min(
            (task.environment.total_memory_mib for task in tasks), default=usual.memory_mib
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ScheduledRetry:
    """An attempt that will be retried."""

    due: float
    planned: PlannedAttempt = field(compare=False)
    last: AttemptRecord = field(compare=False)


class AttemptQueue:
    """Attempts in their order, few of them in memory at a time.

    An attempt is skipped while another one prepares its task, since it would only wait for the
    lock, and while capacity is lacking, but only a limited number of times.
    """

    def __init__(
        self,
        planned: Iterable[PlannedAttempt],
        *,
        is_prepared: Callable[[Task], bool] = lambda _task: False,
    ) -> None:
        self._planned = iter(planned)
        self._is_prepared = is_prepared
        self._ahead: deque[tuple[PlannedAttempt, int]] = deque()  # each with its preparation
        self._passed = 0  # starts since the first one became the first
        self._again: list[ScheduledRetry] = []
        self._preparing: Counter[int] = Counter()
        self._prepared: set[int] = set()

    @property
    def to_retry(self) -> int:
        """The number of attempts that wait for their retry."""
        return len(self._again)

    @property
    def next_due(self) -> float | None:
        """The time at which the first retry may start."""
        return self._again[0].due if self._again else None

    @property
    def is_empty(self) -> bool:
        """Whether no attempt waits."""
        self._fill_queue()
        return not self._ahead and not self._again

    def put_back(self, again: ScheduledRetry) -> None:
        """Retry an attempt later."""
        heapq.heappush(self._again, again)

    def give_up(self) -> list[ScheduledRetry]:
        """Give up all retries, and return them."""
        retries, self._again = sorted(self._again), []
        return retries

    def take_again(self, free: FreeCapacity, *, now: float) -> PlannedAttempt | None:
        """The next retry, if its time has come and capacity allows it."""
        if self._again and self._again[0].due <= now and free.holds(self._again[0].planned.task):
            return heapq.heappop(self._again).planned
        return None

    def take(self, free: FreeCapacity) -> PlannedAttempt | None:
        """The next attempt that capacity allows, preferably of a prepared task."""
        self._fill_queue()
        position = self._next_position(free)
        if position is None:
            return None
        planned, preparation = self._ahead[position]
        del self._ahead[position]
        self._passed = self._passed + 1 if position else 0
        if not (preparation in self._prepared or self._is_prepared(planned.task)):
            self._preparing[preparation] += 1
        return planned

    def ended(self, planned: PlannedAttempt, *, prepared: bool) -> None:
        """An attempt has ended; `prepared`: its task's preparation exists now."""
        preparation = _preparation(planned.task)
        if self._preparing[preparation] > 1 and not prepared:
            self._preparing[preparation] -= 1
        else:
            del self._preparing[preparation]
        if prepared:
            self._prepared.add(preparation)

    def _fill_queue(self) -> None:
        for planned in islice(self._planned, _AHEAD - len(self._ahead)):
            self._ahead.append((planned, _preparation(planned.task)))

    def _next_position(self, free: FreeCapacity) -> int | None:
        second_best: int | None = None
        for position, (planned, preparation) in enumerate(self._ahead):
            if not free.holds(planned.task):
                if position == 0 and self._passed >= _AHEAD:
                    return None  # otherwise it might wait forever
            elif not self._preparing[preparation]:
                return position
            elif second_best is None:
                second_best = position
        return second_best


def _preparation(task: Task) -> int:
    """A hash of everything that a task's preparation depends on, except the resolved image."""
    source, environment = task.source, task.environment
    parts = (
        str(source.files or source.url),
        source.commit,
        task.setup,
        environment.image,
        environment.dockerfile,
        environment.compose,
        frozenset(environment.env.items()),
    )
    return hash(parts)


def retry_delay(failures: int) -> float:
    """The seconds before the next retry, from the number of failures so far."""
    return random.uniform(0.0, min(_LONGEST_BACK_OFF, 2.0 ** (failures - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The settings for making a run's attempts."""

    jobs: int
    retries: int
    capacity: Capacity
    cancel: Event
    max_cost_usd: float | None = None
    max_failures: int | None = None
    is_prepared: Callable[[Task], bool] = lambda _task: False
    """Whether a task was prepared before; then no attempt has to wait for its set-up."""
    on_end: Callable[[AttemptRecord], None] = lambda _record: None
    on_retry: Callable[[AttemptRecord, float], None] = lambda _record, _seconds: None
    """Receives the record of a try that is repeated, and the seconds until then."""
    back_off: Callable[[int], float] = retry_delay
    clock: Callable[[], float] = time.monotonic


def run_attempts(
    planned: Iterable[PlannedAttempt], executor: Executor, schedule: Schedule
) -> Generator[AttemptRecord, None, None]:
    """Make every planned attempt; yields each one's last record when it ends.

    Starts no attempt once the run is cancelled, has spent its budget, or has reached its maximum of
    failures. Closing the iterator cancels the running attempts.

    Raises:
        StorageError: the files of attempts could not be written.
        OutageError: something that attempts need was unavailable for too long.
    """
    scheduler = _Scheduler(planned, executor, schedule)
    with executor:
        try:
            while scheduler.goes_on():
                scheduler.start_what_fits()
                yield from scheduler.ended()
            yield from scheduler.last_records()
        finally:
            if scheduler.running:
                schedule.cancel.set()


class _Scheduler:
    """Starts attempts while capacity allows, and retries those that the infrastructure failed."""

    def __init__(
        self, planned: Iterable[PlannedAttempt], executor: Executor, schedule: Schedule
    ) -> None:
        self._executor = executor
        self._schedule = schedule
        self._capacity = schedule.capacity
        self._waiting = AttemptQueue(planned, is_prepared=schedule.is_prepared)
        self._failures: Counter[tuple[str, int]] = Counter()  # of the infrastructure
        self._spent = 0.0  # by every try, also one that is retried
        self._failed = 0
        self.running = 0

    def goes_on(self) -> bool:
        """Whether any attempt runs or may still start."""
        return self.running > 0 or (self._may_start() and not self._waiting.is_empty)

    def start_what_fits(self) -> None:
        """Fill the slots, as far as memory and cores allow."""
        while self._may_start() and self.running < self._schedule.jobs:
            planned = self._next()
            if planned is None:
                return
            self._capacity.take(planned.task)
            self.running += 1
            self._executor.start(planned)

    def ended(self) -> Iterator[AttemptRecord]:
        """The attempts that have ended and are not retried; waits for a short time."""
        for over in self._executor.ended(within=self._patience()):
            record, task = over.record, over.planned.task
            self.running -= 1
            self._capacity.give_back(task)
            self._waiting.ended(
                over.planned,
                prepared=any(stage.name is StageName.BASELINE_RUN for stage in record.stages),
            )
            if record.usage is not None:
                self._spent += record.usage.cost_usd or 0.0
            self._failed += counts_as_failure(record)
            if not self._will_retry(over):
                self._schedule.on_end(record)
                yield record

    def last_records(self) -> Iterator[AttemptRecord]:
        """The last records of attempts whose retries are given up."""
        for again in self._waiting.give_up():
            yield again.last

    def _next(self) -> PlannedAttempt | None:
        free = self._capacity.free_capacity()
        again = self._waiting.take_again(free, now=self._schedule.clock())
        if again is not None or self._waiting.to_retry > self._schedule.jobs:
            return again
        return self._waiting.take(free)

    def _may_start(self) -> bool:
        cost, failures = self._schedule.max_cost_usd, self._schedule.max_failures
        is_affordable = cost is None or self._spent < cost
        may_fail = failures is None or self._failed < failures
        return is_affordable and may_fail and not self._schedule.cancel.is_set()

    def _will_retry(self, over: FinishedAttempt) -> bool:
        record, planned = over.record, over.planned
        attempt = (planned.task.id, planned.attempt)
        is_retryable = record.fault is Fault.INFRASTRUCTURE and not was_interrupted(record)
        if (
            not is_retryable
            or self._failures[attempt] >= self._schedule.retries
            or not self._may_start()
        ):
            del self._failures[attempt]
            return False
        self._failures[attempt] += 1
        delay = self._schedule.back_off(self._failures[attempt])
        self._schedule.on_retry(record, delay)
        due = self._schedule.clock() + delay
        self._waiting.put_back(ScheduledRetry(due=due, planned=planned, last=record))
        return True

    def _patience(self) -> float:
        due = self._waiting.next_due
        return _POLL if due is None else min(_POLL, max(0.0, due - self._schedule.clock()))
