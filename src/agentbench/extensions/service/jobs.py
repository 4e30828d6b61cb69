"""Passes stored jobs to the judge, and notifies clients of their results."""

import asyncio
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from agentbench.attempt.record import RunId
from agentbench.errors import AgentbenchError, InputError, UnavailableError
from agentbench.extensions.service.job_store import JobStore, KeyReusedError, NewJob
from agentbench.extensions.service.messages import EndedJobs, JobState, ServiceJob
from agentbench.extensions.service.problems import ProblemCode, ProblemDetails, ProblemError
from agentbench.judge.judge import Judge
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.scoring import Scoring, Submission
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

T = TypeVar("T")
# Times as many jobs as slots that the judge gets at each priority. The others stay on disk.
_AHEAD = 2
_POLL: Final = 1.0  # seconds between two checks of deadlines
_PRUNE_EVERY: Final = 600.0  # seconds
_DRAINING_RETRY: Final = {"Retry-After": "10"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """The limits of the queue."""

    max_waiting: int = 100_000
    """The most jobs that wait."""
    keep_seconds: float = 7 * 24 * 3600.0
    """Ended jobs are deleted after this time, in seconds."""


@dataclass(frozen=True, slots=True)
class _Group:
    name: str


class _Watchers:
    def __init__(self) -> None:
        self._events: dict[object, set[asyncio.Event]] = {}

    @contextmanager
    def watching(self, watched: object) -> Iterator[asyncio.Event]:
        """An event that each change sets during the block."""
        event = asyncio.Event()
        self._events.setdefault(watched, set()).add(event)
        try:
            yield event
        finally:
            self._events[watched].discard(event)
            if not self._events[watched]:
                del self._events[watched]

    def wake(self, watched: object) -> None:
        for event in self._events.get(watched, ()):
            event.set()

    def wake_all(self) -> None:
        for watched in self._events:
            self.wake(watched)


class ServiceJobs:
    """The jobs of a service. All methods belong to its event loop."""

    def __init__(
        self,
        judge: Judge,
        store: JobStore,
        tasks: Mapping[TaskId, Task],
        *,
        jobs: int,
        limits: JobLimits,
        on_end: Callable[[ServiceJob], None],
    ) -> None:
        """Judge the jobs of a store.

        Args:
            judge: An open judge.
            store: The jobs; used in a thread of its own from now on.
            tasks: The tasks of the service.
            jobs: How many changes the judge judges at a time.
            limits: The limits of the queue.
            on_end: Called with each job that has ended.
        """
        self._judge = judge
        self._store = store
        self._tasks = tasks
        self._ahead = _AHEAD * jobs
        self._limits = limits
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queue")
        self._wake = asyncio.Event()
        self._judging: dict[str, Scoring] = {}
        self._priorities: Counter[int] = Counter()  # of the jobs that the judge has
        self._cancelled: set[str] = set()  # by their clients
        self._watchers = _Watchers()
        self._idle = asyncio.Event()  # the judge has no job
        self._idle.set()
        self.is_draining = False
        self.has_released = False
        """Whether those who wait for a job get their answers at once: the service ends."""
        self._feeding = self._loop.create_task(self._feed())

    async def submit(self, new: NewJob) -> tuple[ServiceJob, bool]:
        """Store a job; returns it, and whether it is new. It is on disk when this returns.

        Raises:
            ProblemError: the service is stopping, too many jobs wait, or the key was reused.
        """
        if self.is_draining:
            raise ProblemError(ProblemCode.DRAINING, headers=_DRAINING_RETRY)
        waiting, _ = await self.counts()
        if waiting >= self._limits.max_waiting:
            detail = f"expected fewer than {self._limits.max_waiting} waiting jobs, found {waiting}"
            raise ProblemError(ProblemCode.TOO_MANY_JOBS, detail, headers={"Retry-After": "60"})
        try:
            job, is_new = await self._stored(partial(self._store.add, new))
        except KeyReusedError:
            raise ProblemError(ProblemCode.KEY_REUSED) from None
        self._wake.set()
        return job, is_new

    async def job(self, job_id: str) -> ServiceJob:
        """A job.

        Raises:
            ProblemError: there is none of this id.
        """
        found = await self._stored(partial(self._store.job, job_id))
        if found is None:
            raise ProblemError(ProblemCode.UNKNOWN_JOB)
        return found

    async def job_after(
        self, job_id: str, is_news: Callable[[ServiceJob], bool], seconds: float
    ) -> ServiceJob:
        """The job once it is news, or after so many seconds.

        Raises:
            ProblemError: there is none of this id.
        """
        return await self._after(job_id, partial(self.job, job_id), is_news, seconds)

    async def ended(self, group: str, after: int, seconds: float) -> EndedJobs:
        """The jobs of a group that ended after another one; waits until there are some."""

        async def find() -> Sequence[ServiceJob]:
            return await self._stored(partial(self._store.ended, group, after))

        found = await self._after(_Group(group), find, bool, seconds)
        last = found[-1].ended_number if found else after
        assert last is not None
        return EndedJobs(jobs=tuple(found), last=last)

    async def cancel(self, job_id: str) -> ServiceJob:
        """Cancel a job; one that has ended stays as it is.

        Raises:
            ProblemError: there is none of this id.
        """
        await self.job(job_id)
        scoring = self._judging.get(job_id)
        if scoring is not None:
            self._cancelled.add(job_id)
            # It may have its verdict already.
            if not scoring.cancel():
                self._cancelled.discard(job_id)
        if scoring is None or job_id in self._cancelled:
            await self._end(job_id, JobState.CANCELLED)
        return await self.job(job_id)

    async def cancel_group(self, group: str) -> int:
        """Cancel the jobs of a group that have not ended; returns how many there were."""
        found = await self._stored(partial(self._store.open_jobs, group))
        for job_id in found:
            await self.cancel(job_id)
        return len(found)

    async def counts(self) -> tuple[int, int]:
        """The number of waiting jobs, and that of running ones."""
        return await self._stored(self._store.counts)

    async def drain(self, seconds: float) -> None:
        """Accept and start nothing more; wait at most so long for what is being judged."""
        self.is_draining = True
        for job_id, scoring in tuple(self._judging.items()):
            job = await self.job(job_id)
            # It stays in the queue, for the next start of the service.
            if job.state is JobState.QUEUED:
                scoring.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()

    def release(self) -> None:
        """Have all who wait for a job answered with its present state."""
        self.has_released = True
        self._watchers.wake_all()

    async def close(self) -> None:
        """Leave jobs that have not ended to the next start; the judge must be closed before."""
        self.is_draining = True
        self._feeding.cancel()
        with suppress(asyncio.CancelledError):
            await self._feeding
        await self._idle.wait()
        await self._stored(self._store.close)
        self._thread.shutdown()

    async def _feed(self) -> None:
        pruned_at = -_PRUNE_EVERY
        while True:
            try:
                if time.monotonic() >= pruned_at + _PRUNE_EVERY:
                    await self._stored(partial(self._store.prune, self._limits.keep_seconds))
                    pruned_at = time.monotonic()
                for job_id in await self._stored(self._store.expire):
                    if job_id in self._judging:
                        self._judging[job_id].cancel()
                    await self._tell(job_id)
                if not self.is_draining:
                    await self._fill()
            # A verdict that could not be written left its job running for ever: this loop goes on.
            except AgentbenchError as error:
                _log(error)
            except Exception as error:  # noqa: BLE001 - a bug, which must not end all judging
                traceback.print_exception(error)
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL):
                    await self._wake.wait()
            self._wake.clear()

    async def _fill(self) -> None:
        limit = len(self._judging) + self._ahead
        for job in await self._stored(partial(self._store.waiting, limit)):
            if job.id in self._judging or self._priorities[job.priority] >= self._ahead:
                continue
            task = self._tasks.get(job.task_id)
            if task is None or task.digest != job.task_digest:
                await self._fail(job.id, ProblemCode.TASK_CHANGED, "found it changed or removed")
                continue
            change = await self._stored(partial(self._store.change, job.id))
            # It may have been cancelled meanwhile.
            if change is None:
                continue
            content, is_tree = change
            left = None if job.due_at is None else max(0.0, job.due_at - time.time())
            scoring = self._judge.submit(
                Submission(
                    task=task,
                    patch=None if is_tree else content,
                    tree=content if is_tree else None,
                    priority=job.priority,
                    deadline=left,
                    fresh=job.fresh,
                    on_start=partial(self._begun, job.id),
                )
            )
            self._judging[job.id] = scoring
            self._idle.clear()
            self._priorities[job.priority] += 1
            scoring.future.add_done_callback(partial(self._judged, job.id, job.priority))

    def _begun(self, job_id: str, run_id: RunId, attempt: int) -> None:
        # In a thread of the judge, which waits until the start is on disk: otherwise a crash would
        # hide that the change was judged before.
        self._thread.submit(self._store.begin, job_id, run_id, attempt).result()
        asyncio.run_coroutine_threadsafe(self._tell(job_id), self._loop)

    def _judged(self, job_id: str, priority: int, future: "Future[JudgeVerdict]") -> None:
        # In a thread of the judge.
        work = self._finish(job_id, priority, future)
        asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _finish(self, job_id: str, priority: int, future: "Future[JudgeVerdict]") -> None:
        try:
            while True:
                try:
                    await self._store_result(job_id, future)
                    break
                # The disk may have space again later. A job without a stored result is judged
                # again by the next start.
                except AgentbenchError as error:
                    _log(error)
                    if self.is_draining:
                        break
                await asyncio.sleep(_POLL)
        finally:
            del self._judging[job_id]
            self._priorities[priority] -= 1
            self._cancelled.discard(job_id)
            self._wake.set()
            if not self._judging:
                self._idle.set()

    async def _store_result(self, job_id: str, future: "Future[JudgeVerdict]") -> None:
        # By `cancel`, which has noted it; or the service stops.
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            await self._end(job_id, JobState.DONE, verdict=future.result())
        elif isinstance(error, InputError):
            await self._fail(job_id, ProblemCode.INVALID_TASK, str(error))
        elif isinstance(error, UnavailableError):
            await self._fail(job_id, ProblemCode.UNAVAILABLE, str(error))
        else:
            if not isinstance(error, AgentbenchError):
                traceback.print_exception(error)
            await self._fail(job_id, ProblemCode.INTERNAL, "")

    async def _fail(self, job_id: str, code: ProblemCode, detail: str) -> None:
        await self._end(job_id, JobState.FAILED, error=ProblemDetails.of(code, detail))

    async def _end(
        self,
        job_id: str,
        state: JobState,
        *,
        verdict: JudgeVerdict | None = None,
        error: ProblemDetails | None = None,
    ) -> None:
        end = partial(self._store.end, job_id, state, verdict=verdict, error=error)
        if await self._stored(end):
            await self._tell(job_id)

    async def _tell(self, job_id: str) -> None:
        """Notify those who wait for a job, or for the next ended job of its group."""
        job = await self.job(job_id)
        self._watchers.wake(job_id)
        if job.state.has_ended:
            self._on_end(job)
            if job.group is not None:
                self._watchers.wake(_Group(job.group))

    async def _after(
        self,
        watched: object,
        find: Callable[[], Awaitable[T]],
        is_news: Callable[[T], bool],
        seconds: float,
    ) -> T:
        """The result of `find` once it is news, or after so many seconds."""
        until = self._loop.time() + seconds
        with self._watchers.watching(watched) as changed:
            while True:
                changed.clear()
                found = await find()
                if is_news(found) or self.has_released:
                    return found
                try:
                    async with asyncio.timeout_at(until):
                        await changed.wait()
                except TimeoutError:
                    return found

    async def _stored(self, work: Callable[[], T]) -> T:
        # In the one thread of the store, so that a slow disk does not stop the event loop.
        return await self._loop.run_in_executor(self._thread, work)


def _log(error: Exception) -> None:
    print(f"queue: {error}", file=sys.stderr)  # noqa: T201 - the service's log
