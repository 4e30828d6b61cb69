"""Runs the jobs of a judge: starts them, retries them, and gives their verdicts to who waits."""

import heapq
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from threading import Condition, Event, Thread

from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import RunResources
from agentbench.errors import OutageError, StorageError
from agentbench.judge.judge_verdict import DEADLINE_DETAIL, JudgeVerdict
from agentbench.judge.reward_kind import RewardKind
from agentbench.judge.submitted_change import SubmittedChange
from agentbench.judge.task_register import ReadyTask, TaskRegister
from agentbench.judge.verdict_cache import VerdictCache
from agentbench.runs.executors import MakeAttempt
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import AttemptQueue
from agentbench.runs.store.summaries import was_interrupted
from agentbench.tasks.task import Task

_EVERY = 32  # verdicts
# Nothing tells when other programs free memory for a change that waits for it.
_POLL = 1.0


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
    cancel: Event = field(default_factory=Event)
    waiting: list["Future[JudgeVerdict]"] = field(default_factory=list)
    on_start: list[OnStart] = field(default_factory=list)
    is_started: bool = False
    number: int | None = None  # of its attempt

    @property
    def task(self) -> Task:
        return self.ready.task

    def give(self, future: "Future[JudgeVerdict]", verdict: JudgeVerdict) -> None:
        # It may be cancelled meanwhile.
        with suppress(InvalidStateError):
            future.set_result(verdict)

    def finish(self, verdict: JudgeVerdict) -> None:
        for future in tuple(self.waiting):
            self.give(future, verdict)

    def fail(self, error: BaseException) -> None:
        for future in tuple(self.waiting):
            with suppress(InvalidStateError):
                future.set_exception(error)


@dataclass(slots=True, kw_only=True, eq=False)
class _Deadline:
    future: "Future[JudgeVerdict]"
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """Somebody who waits for a verdict."""

    future: "Future[JudgeVerdict]"
    """Receives the verdict; its cancellation may cancel the job."""
    due: float | None = None
    """The time of its deadline, by time.monotonic()."""
    on_start: OnStart | None = None
    """Called before the change is judged; at once if it is being judged already."""


class JobRunner:
    """Judges changes in threads, one for each slot. Thread-safe; `start` first."""

    def __init__(
        self,
        resources: RunResources,
        tasks: TaskRegister,
        queue: AttemptQueue[Job],
        make: MakeAttempt,
        *,
        verdicts: VerdictCache | None,
        kind: RewardKind,
    ) -> None:
        """Judge with these resources; without stored verdicts if `verdicts` is None."""
        self._resources = resources
        self._make = make
        self._tasks = tasks
        self._verdicts = verdicts
        self._kind = kind
        self._pool = ThreadPoolExecutor(tasks.configuration.jobs, thread_name_prefix="attempt")
        self._dispatcher = Thread(target=self._dispatch, name="judge", daemon=True)
        self._order = count()
        self._changed = Condition()  # its lock protects the following
        self._queue = queue
        self._shared: dict[JobKey, Job] = {}  # that later equal changes join
        self._running: dict[int, Job] = {}
        self._deadlines: list[tuple[float, int, _Deadline]] = []  # a heap
        self._is_closing = False
        self._ended = 0

    @property
    def slots(self) -> Executor:
        """The threads that judge, for other work of an attempt."""
        return self._pool

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._queue)

    @property
    def running(self) -> int:
        with self._changed:
            return len(self._running)

    def start(self) -> None:
        self._dispatcher.start()

    def close(self) -> bool:
        """Cancel all jobs, and wait until their sandboxes end; returns whether there were any."""
        with self._changed:
            self._is_closing = True
            waiting = self._queue.clear()
            were_any = bool(waiting or self._running)
            for job in self._running.values():
                job.cancel.set()
            self._changed.notify_all()
        for job in waiting:
            for future in tuple(job.waiting):
                future.cancel()
        self._dispatcher.join()
        self._pool.shutdown()
        return were_any

    def submit(
        self,
        ready: ReadyTask,
        change: SubmittedChange,
        waiter: Waiter,
        *,
        priority: int,
        fresh: bool,
    ) -> None:
        """Give somebody the stored verdict on a change, or that of a job.

        Args:
            ready: The task.
            change: The change.
            waiter: The caller that waits.
            priority: Higher numbers start earlier.
            fresh: Whether an earlier verdict does not do.
        """
        future, due, on_start = waiter.future, waiter.due, waiter.on_start
        verdicts = None if fresh else self._verdicts
        if verdicts is not None:
            stored = verdicts.load(ready.entry, ready.image, change.digest)
            if stored is not None:
                future.set_result(stored.with_kind(self._kind))
                return
        with self._changed:
            if self._is_closing:
                future.cancel()
                return
            key = (ready.task.digest, change.digest)
            # Equal changes are judged once, unless one of them asks for a verdict of its own.
            job = self._shared.get(key) if verdicts is not None else None
            if job is not None:
                self._queue.raise_priority(job, priority)
            else:
                job = Job(key=key, ready=ready, change=change)
                if verdicts is not None:
                    self._shared[key] = job
                self._queue.put(job, priority=priority)
            job.waiting.append(future)
            if on_start is not None:
                job.on_start.append(on_start)
            number = job.number if job.is_started else None
            if due is not None:
                deadline = _Deadline(future=future, job=job)
                heapq.heappush(self._deadlines, (due, next(self._order), deadline))
            self._changed.notify_all()
        # The callback holds no reference to the future, so that both are freed at once.
        future.add_done_callback(partial(self._leave, job))
        if on_start is not None and number is not None:
            on_start(self._tasks.configuration.run_id, number)

    def _leave(self, job: Job, future: "Future[JudgeVerdict]") -> None:
        # Somebody got the verdict or gave up; a job for which nobody waits is cancelled.
        with self._changed:
            if future in job.waiting:
                job.waiting.remove(future)
            if job.waiting:
                return
            self._forget(job)
            self._queue.remove(job)
            job.cancel.set()
            self._changed.notify_all()

    def _forget(self, job: Job) -> None:
        if self._shared.get(job.key) is job:
            del self._shared[job.key]

    def _dispatch(self) -> None:
        """Start jobs, and end the wait of those whose deadline has passed."""
        while True:
            with self._changed:
                late = self._late()
                job = None if self._is_closing else self._queue.take()
                if job is not None:
                    self._running[id(job)] = job
                elif self._is_closing and not self._running:
                    return
                elif not late:
                    times = [self._queue.next_due]
                    times += [self._deadlines[0][0]] if self._deadlines else []
                    known = [each - time.monotonic() for each in times if each is not None]
                    if len(self._queue):
                        known.append(_POLL)
                    self._changed.wait(max(0.0, min(known)) if known else None)
                    continue
            for deadline in late:
                deadline.job.give(deadline.future, _without_result(deadline.job, DEADLINE_DETAIL))
            if job is not None:
                self._pool.submit(self._judge, job)

    def _late(self) -> list[_Deadline]:
        late = []
        while self._deadlines and (
            self._deadlines[0][0] <= time.monotonic() or self._deadlines[0][2].future.done()
        ):
            late.append(heapq.heappop(self._deadlines)[2])
        return [each for each in late if not each.future.done()]

    def _judge(self, job: Job) -> None:
        record: AttemptRecord | None = None
        verdict: JudgeVerdict | None = None
        try:
            record = self._attempt(job)
        except (OutageError, StorageError) as fault:
            verdict = _without_result(job, str(fault))
        except BaseException as fault:  # noqa: BLE001 - raised where the verdict is awaited
            job.fail(fault)
        with self._changed:
            del self._running[id(job)]
            self._queue.ended(job, record)
            is_wanted = bool(job.waiting) and not self._is_closing
            retries = (
                record is not None and is_wanted and self._queue.retry(job, record) is not None
            )
            if not retries:
                self._forget(job)
            self._ended += 1
            # Deadlines of ended jobs would keep their verdicts in memory.
            if self._ended % _EVERY == 0:
                self._deadlines = [each for each in self._deadlines if not each[2].future.done()]
                heapq.heapify(self._deadlines)
            self._changed.notify_all()
        if record is not None and not retries:
            # The judge is being closed, so nobody gets a verdict.
            if was_interrupted(record) and self._is_closing:
                for future in tuple(job.waiting):
                    future.cancel()
                return
            verdict = JudgeVerdict.of(record, job.key[1], self._kind)
            if self._verdicts is not None:
                self._verdicts.store(job.ready.entry, job.ready.image, verdict)
        if verdict is not None:
            job.finish(verdict)

    def _attempt(self, job: Job) -> AttemptRecord:
        """Make one attempt, which submits the change.

        Raises:
            StorageError: its record cannot be written.
            OutageError: something was unavailable for longer than attempts wait.
        """
        task = job.ready.task
        # A retry has the number of its attempt.
        number = job.number or self._tasks.next_number(task)
        with self._changed:
            job.number, job.is_started = number, True
            waiting = tuple(job.on_start)
        # Outside of the lock: the service writes each begin to its disk.
        for on_start in waiting:
            on_start(self._tasks.configuration.run_id, number)
        planned = PlannedAttempt(task=task, attempt=number)
        agent = job.change.agent(task.id)
        return self._make(planned, agent, replace(self._resources, cancel=job.cancel))


def _without_result(job: Job, detail: str) -> JudgeVerdict:
    return JudgeVerdict.without_result(
        task_id=job.ready.task.id,
        task_digest=job.key[0],
        change_digest=job.key[1],
        detail=detail,
    )
