"""Carries a blocking call off the event loop: followed while it lasts, ended when nobody waits."""

from collections.abc import Awaitable, Callable
from threading import Event

import anyio
import anyio.lowlevel
import anyio.to_thread

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.progress import Progress
from agentbench.pytest_results.tool_calls.calls import Watch

_LOOK_EVERY = 0.1  # seconds

Tell = Callable[[Progress], Awaitable[None]]
"""Sends progress to the client."""


class CalledOffError(Exception):
    """A call ended because it was called off, and nobody waits for its answer."""


async def carry_out(
    work: Callable[[Watch], JsonObject], *, limiter: anyio.CapacityLimiter, tell: Tell | None
) -> JsonObject:
    """Do the work in a thread; returns what it returns.

    When this is cancelled, the work is told so, and no process of it is left once this ends.

    Raises:
        CalledOffError: the work was interrupted although this was not cancelled.
    """
    relay = _Relay(tell)
    watch = Watch(cancel=Event(), progress=None if tell is None else relay.put)
    async with anyio.create_task_group() as group:
        group.start_soon(_set_when_cancelled, watch.cancel)
        group.start_soon(relay.pass_on)
        answer = await anyio.to_thread.run_sync(_uninterrupted, work, watch, limiter=limiter)
        await relay.flush()
        group.cancel_scope.cancel()
    if answer is None:
        await anyio.lowlevel.checkpoint()  # where it was cancelled, this says so
        raise CalledOffError
    return answer


class _Relay:
    """Hands progress from a thread to a coroutine; only the latest counts."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._latest: Progress | None = None
        self._told = -1

    def put(self, progress: Progress) -> None:
        """Take it, in whatever thread."""
        self._latest = progress

    async def flush(self) -> None:
        """Tell the client, if there is anything new: the protocol wants it to increase."""
        latest = self._latest
        if self._tell is not None and latest is not None and latest.done > self._told:
            self._told = latest.done
            await self._tell(latest)

    async def pass_on(self) -> None:
        """Tell what comes for as long as the call lasts."""
        while self._tell is not None:
            await anyio.sleep(_LOOK_EVERY)
            await self.flush()


async def _set_when_cancelled(cancel: Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        cancel.set()


def _uninterrupted(work: Callable[[Watch], JsonObject], watch: Watch) -> JsonObject | None:
    try:
        return work(watch)
    except KeyboardInterrupt:  # how a sandbox says that a command was called off
        return None
