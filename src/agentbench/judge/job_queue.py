"""Jobs that wait for a free slot: the most urgent first, as far as memory and cores allow."""

import heapq
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event

from agentbench.attempt.record import RunId
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.judge.task_register import ReadyTask
from agentbench.runs.scheduler import Capacity, retry_delay
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_AHEAD = 256
"""The most jobs that are searched for one that may start."""

JobKey = tuple[str, str]
"""The digests of the task and of the change."""


OnStart = Callable[[RunId, int], None]
"""Called with the run and the number of the attempt, before the change is judged in it."""


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One change that is judged once, for everybody who waits for its verdict."""

    key: JobKey
    ready: ReadyTask
    change: SubmittedChange
    priority: int = 0
    cancel: Event = field(default_factory=Event)
    waiting: list["Future[JudgeVerdict]"] = field(default_factory=list)
    on_start: list[OnStart] = field(default_factory=list)
    is_started: bool = False
    number: int | None = None  # of its attempt
    failures: int = 0  # of the infrastructure

    @property
    def task(self) -> Task:
        """The task."""
        return self.ready.task

    def give(self, future: "Future[JudgeVerdict]", verdict: JudgeVerdict) -> None:
        """Give somebody a verdict."""
        with suppress(InvalidStateError):  # cancelled meanwhile
            future.set_result(verdict)

    def finish(self, verdict: JudgeVerdict) -> None:
        """Give everybody the verdict."""
        for future in tuple(self.waiting):
            self.give(future, verdict)

    def fail(self, error: BaseException) -> None:
        """Give everybody the error."""
        for future in tuple(self.waiting):
            with suppress(InvalidStateError):
                future.set_exception(error)


class JobQueue:
    """Waiting and running jobs. The owner's lock protects it."""

    def __init__(
        self,
        jobs: int,
        capacity: Capacity,
        *,
        clock: Callable[[], float] = time.monotonic,
        back_off: Callable[[int], float] = retry_delay,
    ) -> None:
        """Allow so many running jobs, as far as the capacity holds their tasks."""
        self._jobs = jobs
        self._capacity = capacity
        self._clock = clock
        self._back_off = back_off
        self._order = count()
        self._waiting: list[tuple[int, int, Job]] = []  # a heap: urgency, order, job
        self._delayed: list[tuple[float, int, Job]] = []  # a heap: due, order, job
        self._prepared: set[TaskId] = set()
        self.running: set[int] = set()
        self._tasks_running: dict[TaskId, int] = {}

    def __len__(self) -> int:
        return len(self._waiting) + len(self._delayed)

    @property
    def next_due(self) -> float | None:
        """The time at which the first retry may start."""
        return self._delayed[0][0] if self._delayed else None

    def put(self, job: Job) -> None:
        """Add a job."""
        heapq.heappush(self._waiting, (-job.priority, next(self._order), job))

    def retry(self, job: Job) -> None:
        """Add a job again after an infrastructure failure, after a while."""
        job.failures += 1
        due = self._clock() + self._back_off(job.failures)
        heapq.heappush(self._delayed, (due, next(self._order), job))

    def raise_priority(self, job: Job, priority: int) -> None:
        """Let a waiting job start earlier, since somebody more urgent waits for it."""
        if priority <= job.priority:
            return
        job.priority = priority
        for position, (_, order, each) in enumerate(self._waiting):
            if each is job:
                self._waiting[position] = (-priority, order, job)
                heapq.heapify(self._waiting)
                return

    def remove(self, job: Job) -> bool:
        """Remove a waiting job; False if it does not wait."""
        before = len(self)
        self._waiting = [each for each in self._waiting if each[2] is not job]
        self._delayed = [each for each in self._delayed if each[2] is not job]
        heapq.heapify(self._waiting)
        heapq.heapify(self._delayed)
        return len(self) < before

    def clear(self) -> list[Job]:
        """Remove all waiting jobs, and return them."""
        jobs = [each[2] for each in (*self._waiting, *self._delayed)]
        self._waiting, self._delayed = [], []
        return jobs

    def take(self) -> Job | None:
        """The next job that may start; it counts as running from now on.

        Only one job of a task starts before the task is prepared, since others would only wait.
        """
        while self._delayed and self._delayed[0][0] <= self._clock():
            self.put(heapq.heappop(self._delayed)[2])
        if len(self.running) >= self._jobs:
            return None
        free = self._capacity.free_capacity()
        passed: list[tuple[int, int, Job]] = []
        found: Job | None = None
        while self._waiting and found is None and len(passed) < _AHEAD:
            entry = heapq.heappop(self._waiting)
            task = entry[2].task
            is_ready = task.id in self._prepared or not self._tasks_running.get(task.id)
            if is_ready and free.holds(task):
                found = entry[2]
            else:
                passed.append(entry)
        for entry in passed:
            heapq.heappush(self._waiting, entry)
        if found is not None:
            self.running.add(id(found))
            self._tasks_running[found.task.id] = self._tasks_running.get(found.task.id, 0) + 1
            self._capacity.take(found.task)
        return found

    def ended(self, job: Job, *, prepared: bool) -> None:
        """A running job has ended; `prepared`: its task's preparation exists now."""
        self.running.discard(id(job))
        self._tasks_running[job.task.id] -= 1
        if not self._tasks_running[job.task.id]:
            del self._tasks_running[job.task.id]
        self._capacity.give_back(job.task)
        if prepared:
            self._prepared.add(job.task.id)
