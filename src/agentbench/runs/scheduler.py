"""Starts as many parallel attempts as capacity allows, and retries infrastructure failures."""

import heapq
import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Event
from typing import Generic, Protocol, Self, TypeVar

from agentbench.attempt.record import AttemptRecord
from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.runs.executors import Executor
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.summaries import counts_as_failure, is_retryable
from agentbench.tasks.task import Task, TaskEnvironment
from agentbench.taxonomy import StageName

# Measured on two cores: four parallel attempts halve the total time, eight gain nothing more.
_ATTEMPTS_PER_CORE = 2
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
    """Cores and memory, minus those that the tasks of running attempts declare. For one thread."""

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
        cpus, memory_mib = smallest_needs(tasks)
        return cls(
            cpus=max(cores_for_attempts(), jobs * cpus),
            memory_mib=max(free or float("inf"), jobs * memory_mib),
            available=available,
        )

    def free_capacity(self) -> FreeCapacity:
        """The cores and memory that are free now."""
        # Attempts may use less than they declare, and other programs may use more: the memory must
        # really be free, too. Without a running attempt, waiting would not free any.
        available = self.available() if self._running else None
        return FreeCapacity(
            cpus=self.cpus,
            memory_mib=self.memory_mib if available is None else min(self.memory_mib, available),
            is_all=not self._running,
        )

    def take(self, task: Task) -> None:
        self._running += 1
        self.cpus -= task.environment.total_cpus
        self.memory_mib -= task.environment.total_memory_mib

    def give_back(self, task: Task) -> None:
        self._running -= 1
        self.cpus += task.environment.total_cpus
        self.memory_mib += task.environment.total_memory_mib


def fitting_jobs(tasks: Sequence[Task]) -> int:
    """The number of parallel attempts for this machine, if all were like the smallest one."""
    cpus, memory_mib = smallest_needs(tasks)
    by_cores = cores_for_attempts() / cpus
    memory = available_memory_mib()
    by_memory = memory / memory_mib if memory is not None else by_cores
    return max(1, int(min(by_cores, by_memory)))


def smallest_needs(tasks: Sequence[Task]) -> tuple[float, int]:
    """The fewest cores and the least memory in MiB that a task declares; the defaults without."""
    usual = TaskEnvironment()
    return (
        min((task.environment.total_cpus for task in tasks), default=usual.cpus),
        min((task.environment.total_memory_mib for task in tasks), default=usual.memory_mib),
    )


def retry_delay(failures: int) -> float:
    """The seconds before the next retry, from the number of failures so far."""
    return random.uniform(0.0, min(_LONGEST_BACK_OFF, 2.0 ** (failures - 1)))


class _OfTask(Protocol):
    @property
    def task(self) -> Task: ...


_Item = TypeVar("_Item", bound=_OfTask)


class AttemptQueue(Generic[_Item]):
    """Attempts that wait or run: which one starts next, and which is tried again.

    Runs and judges share these rules. Not thread-safe: the owner's lock protects it.
    """

    def __init__(
        self,
        *,
        jobs: int,
        capacity: Capacity,
        retries: int,
        is_prepared: Callable[[Task], bool] = lambda _task: False,
        back_off: Callable[[int], float] = retry_delay,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow so many running attempts, as far as the capacity holds their tasks."""
        self._jobs = jobs
        self._capacity = capacity
        self._retries = retries
        self._is_prepared = is_prepared
        self._back_off = back_off
        self._clock = clock
        self._order = count()
        self._waiting: list[tuple[int, int, _Item]] = []  # a heap: urgency, order, item
        self._delayed: list[tuple[float, int, _Item]] = []  # a heap: due, order, item
        self._running: dict[_Item, int] = {}  # with their preparations
        self._failures: Counter[_Item] = Counter()  # of the infrastructure
        self._prepared: set[int] = set()
        self._passed = 0  # starts since the first one became the first

    def __len__(self) -> int:
        return len(self._waiting) + len(self._delayed)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def next_due(self) -> float | None:
        """The time at which the first retry may start."""
        return self._delayed[0][0] if self._delayed else None

    def put(self, item: _Item, *, priority: int = 0) -> None:
        """Add an attempt; higher priorities start earlier, equal ones in their order."""
        heapq.heappush(self._waiting, (-priority, next(self._order), item))

    def raise_priority(self, item: _Item, priority: int) -> None:
        self._waiting = [
            (min(urgency, -priority) if each is item else urgency, order, each)
            for urgency, order, each in self._waiting
        ]
        heapq.heapify(self._waiting)

    def remove(self, item: _Item) -> None:
        """Remove an attempt that nobody waits for any more."""
        del self._failures[item]  # a judge that runs for weeks would keep it
        self._waiting = [entry for entry in self._waiting if entry[2] is not item]
        self._delayed = [entry for entry in self._delayed if entry[2] is not item]
        heapq.heapify(self._waiting)
        heapq.heapify(self._delayed)

    def clear(self) -> list[_Item]:
        """Remove all attempts that wait, and return them."""
        items = [entry[2] for entry in (*self._waiting, *self._delayed)]
        self._waiting, self._delayed = [], []
        return items

    def take(self) -> _Item | None:
        """The next attempt that may start; it counts as running from now on."""
        if len(self._running) >= self._jobs:
            return None
        free, item = self._capacity.free_capacity(), None
        due = self.next_due
        if due is not None and due <= self._clock() and free.holds(self._delayed[0][2].task):
            item = heapq.heappop(self._delayed)[2]
        # With more of them, the infrastructure fails all attempts, and further ones would join.
        elif len(self._delayed) <= self._jobs:
            item = self._first_that_fits(free)
        if item is None:
            return None
        self._running[item] = _preparation(item.task)
        self._capacity.take(item.task)
        return item

    def _first_that_fits(self, free: FreeCapacity) -> _Item | None:
        """The first attempt that capacity allows, preferably of a prepared task."""
        # While another attempt prepares its task, an attempt would only wait for that lock.
        preparing = set(self._running.values()) - self._prepared
        skipped: list[tuple[int, int, _Item]] = []
        chosen: tuple[int, int, _Item] | None = None
        while self._waiting and len(skipped) < _AHEAD:
            entry = heapq.heappop(self._waiting)
            skipped.append(entry)
            if not free.holds(entry[2].task):
                # Smaller tasks could pass the first one forever.
                if len(skipped) == 1 and self._passed >= _AHEAD:
                    break
            elif self._is_prepared(entry[2].task) or _preparation(entry[2].task) not in preparing:
                chosen = entry
                break
            elif chosen is None:
                chosen = entry
        for entry in skipped:
            if entry is not chosen:
                heapq.heappush(self._waiting, entry)
        if chosen is None:
            return None
        self._passed = 0 if chosen is skipped[0] else self._passed + 1
        return chosen[2]

    def ended(self, item: _Item, record: AttemptRecord | None) -> None:
        """A running attempt has ended; None: without a record."""
        preparation = self._running.pop(item)
        self._capacity.give_back(item.task)
        stages = record.stages if record is not None else ()
        if any(stage.name is StageName.BASELINE_RUN for stage in stages):
            self._prepared.add(preparation)

    def retry(self, item: _Item, record: AttemptRecord) -> float | None:
        """Put an attempt back if the retry rule repeats it and retries are left.

        Returns:
            The seconds until it may start; None: this record is its last one.
        """
        if not is_retryable(record) or self._failures[item] >= self._retries:
            del self._failures[item]
            return None
        self._failures[item] += 1
        delay = self._back_off(self._failures[item])
        heapq.heappush(self._delayed, (self._clock() + delay, next(self._order), item))
        return delay


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
    queue = AttemptQueue[PlannedAttempt](
        jobs=schedule.jobs,
        capacity=schedule.capacity,
        retries=schedule.retries,
        is_prepared=schedule.is_prepared,
        back_off=schedule.back_off,
        clock=schedule.clock,
    )
    for each in planned:
        queue.put(each)
    spent = 0.0  # by every try, also one that is retried
    failed = 0
    to_retry: dict[PlannedAttempt, AttemptRecord] = {}  # their last records

    def may_start() -> bool:
        is_affordable = schedule.max_cost_usd is None or spent < schedule.max_cost_usd
        may_fail = schedule.max_failures is None or failed < schedule.max_failures
        return is_affordable and may_fail and not schedule.cancel.is_set()

    with executor:
        try:
            while queue.running or (may_start() and len(queue)):
                while may_start() and (item := queue.take()) is not None:
                    executor.start(item)
                due = queue.next_due
                patience = _POLL if due is None else min(_POLL, max(0.0, due - schedule.clock()))
                for over in executor.ended(within=patience):
                    record = over.record
                    queue.ended(over.planned, record)
                    if record.usage is not None:
                        spent += record.usage.cost_usd or 0.0
                    failed += counts_as_failure(record)
                    delay = queue.retry(over.planned, record) if may_start() else None
                    if delay is None:
                        to_retry.pop(over.planned, None)
                        schedule.on_end(record)
                        yield record
                    else:
                        to_retry[over.planned] = record
                        schedule.on_retry(record, delay)
            # Attempts whose retry was cut off: their last records are the result.
            yield from to_retry.values()
        finally:
            if queue.running:
                schedule.cancel.set()
