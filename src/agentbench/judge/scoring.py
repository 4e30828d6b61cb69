"""Verdicts that are not there yet, one or many: for asyncio and for threads."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
)
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from agentbench.attempt.record import RunId
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.tasks.task import Task

Seconds = float | timedelta
"""A duration; a number counts seconds."""


def in_seconds(duration: Seconds) -> float:
    """A duration in seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A change to score. The other fields are the arguments of `Judge.score`."""

    task: Task | Path | str
    patch: Path | str | bytes | None = None
    tree: Path | str | bytes | None = None
    priority: int = 0
    deadline: Seconds | None = None
    fresh: bool = False
    on_start: Callable[[RunId, int], None] | None = None
    """Called in a thread of the judge with the run and the number of the attempt, before the change
    is judged; again if it is judged once more, and never if there is a stored verdict."""


class Scoring:
    """A verdict that is not there yet: await it, or call `result`."""

    def __init__(self, future: "Future[JudgeVerdict]") -> None:
        self.future = future

    def __await__(self) -> Generator[object, None, JudgeVerdict]:
        return asyncio.wrap_future(self.future).__await__()

    def result(self, timeout: float | None = None) -> JudgeVerdict:
        """Wait for the verdict in this thread.

        Args:
            timeout: The longest wait in seconds; None: without a limit.

        Raises:
            TimeoutError: the wait took too long; the scoring continues.
            CancelledError: the scoring was cancelled, or the judge was closed.
            InputError: the task or the change is wrong.
            UnavailableError: the task's image does not exist.
        """
        return self.future.result(timeout)

    def done(self) -> bool:
        """Whether there is a verdict or an error."""
        return self.future.done()

    def cancel(self) -> bool:
        """Give up; its sandboxes are removed unless somebody else waits for the same verdict."""
        return self.future.cancel()


class ScoresPatches(Protocol):
    """A judge of this process, or one that is reached over HTTP."""

    def score(
        self, task: str, *, patch: Path | str | bytes | None = None, deadline: Seconds | None = None
    ) -> Scoring:
        """Judge a patch to a task; see Judge.score."""


class ScoreStream:
    """Verdicts on many changes, each with the position of its change; in the order of their ends.

    Only a limited number of changes is taken from the source at a time, so the source may be
    endless. Iterate over it with `async for` or with `for`. The end of the iteration cancels what
    has not ended. An error of one change ends the iteration.
    """

    def __init__(
        self,
        source: Iterable[Submission] | AsyncIterable[Submission],
        score: Callable[[Submission], Scoring],
        ahead: int,
    ) -> None:
        self._source = source
        self._score = score
        self._ahead = ahead

    def __iter__(self) -> Generator[tuple[int, JudgeVerdict], None, None]:
        if not isinstance(self._source, Iterable):
            raise TypeError("expected changes that can be iterated without `async`")
        source = iter(self._source)
        pending: dict[Future[JudgeVerdict], int] = {}
        ended: SimpleQueue[Future[JudgeVerdict]] = SimpleQueue()
        number = 0
        try:
            while True:
                while len(pending) < self._ahead:
                    submission = next(source, None)
                    if submission is None:
                        break
                    future = self._score(submission).future
                    pending[future] = number
                    future.add_done_callback(ended.put)
                    number += 1
                if not pending:
                    return
                future = ended.get()
                yield pending.pop(future), future.result()
        finally:
            for future in pending:
                future.cancel()

    async def __aiter__(self) -> AsyncIterator[tuple[int, JudgeVerdict]]:
        loop = asyncio.get_running_loop()
        slots = asyncio.Semaphore(self._ahead)
        ended: asyncio.Queue[tuple[int, Future[JudgeVerdict]] | None] = asyncio.Queue()
        pending: set[Future[JudgeVerdict]] = set()

        def put(number: int, future: "Future[JudgeVerdict]") -> None:
            # The verdict may come after the loop of its reader has ended.
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended.put_nowait, (number, future))

        async def submit_all() -> None:
            number = 0
            async with aclosing(_asynchronous(self._source)) as submissions:
                async for submission in submissions:
                    # The source may be endless, so a change is taken once a slot is free.
                    await slots.acquire()
                    future = self._score(submission).future
                    pending.add(future)
                    future.add_done_callback(partial(put, number))
                    number += 1

        source = asyncio.create_task(submit_all())
        source.add_done_callback(lambda _task: ended.put_nowait(None))
        is_open = True
        try:
            while is_open or pending:
                item = await ended.get()
                if item is None:
                    is_open = False
                    source.result()  # raises the source's own error
                    continue
                number, future = item
                pending.discard(future)
                slots.release()
                yield number, future.result()
        finally:
            source.cancel()
            for future in pending:
                future.cancel()


async def _asynchronous(
    source: Iterable[Submission] | AsyncIterable[Submission],
) -> AsyncGenerator[Submission]:
    if isinstance(source, AsyncIterable):
        async for submission in source:
            yield submission
        return
    for submission in source:
        yield submission
