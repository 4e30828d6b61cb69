"""Runs the service until a signal: opens the judge and the queue, serves, drains, closes."""

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentbench.core.access_policy import AccessPolicy
from agentbench.extensions.service.app import ServiceParts, make_app
from agentbench.extensions.service.guard import RequestLimits
from agentbench.extensions.service.job_store import JobStore
from agentbench.extensions.service.jobs import JobLimits, ServiceJobs
from agentbench.extensions.service.metrics import ServiceMetrics
from agentbench.extensions.service.sessions import OpenSessions, SessionLimits
from agentbench.extensions.service.task_catalogue import TaskCatalogue
from agentbench.judge.judge import Judge
from agentbench.judge.reward_kind import RewardKind

_KEEP_ALIVE_SECONDS: Final = 30
_FIRST_REQUEST_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 2  # for answers that are being sent at the end
_MAX_HEADER_BYTES: Final = 32 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The settings of a service."""

    queue: Path
    """The file with the jobs."""
    runs_dir: Path
    reward: RewardKind = RewardKind.RESOLVED
    drain_seconds: float = 60.0
    """The time for running work after a signal, in seconds."""
    requests: RequestLimits = field(default_factory=RequestLimits)
    jobs: JobLimits = field(default_factory=JobLimits)
    sessions: SessionLimits = field(default_factory=SessionLimits)


class TimedProtocol(H11Protocol):
    """HTTP on connections that are closed if no complete request head comes in time."""

    # uvicorn limits only the pause between two requests.

    _first: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)

        def close_unused() -> None:
            if self.cycle is None:
                self.transport.abort()

        self._first = self.loop.call_later(_FIRST_REQUEST_SECONDS, close_unused)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._first is not None:
            self._first.cancel()
        super().connection_lost(exc)


class _DrainingServer(uvicorn.Server):
    """A server that drains on the first signal, and ends at once on the second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.signalled = asyncio.Event()
        self.interrupted = asyncio.Event()
        self.was_interrupted = False
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own handler would end the process afterwards.
        del sig, frame
        if self.signalled.is_set():
            self.was_interrupted = True
            self._loop.call_soon_threadsafe(self.interrupted.set)
        self._loop.call_soon_threadsafe(self.signalled.set)


async def serve(
    judge: Judge,
    tasks: TaskCatalogue,
    settings: ServiceSettings,
    listener: socket.socket,
    policy: AccessPolicy,
    announce: Callable[[], None],
) -> bool:
    """Serve until a signal, then end what runs, and leave waiting jobs in the queue.

    Returns False if a second signal came meanwhile.

    Args:
        judge: A judge that is not open.
        tasks: The tasks.
        settings: The settings.
        listener: The listening socket.
        policy: The conditions for access.
        announce: Called once requests are accepted.

    Raises:
        UsageError: another service has the queue.
        InputError: the queue is not one.
        StorageError: the queue cannot be written.
        UnavailableError: the sandbox is not available.
    """
    async with AsyncExitStack() as stack:
        metrics = ServiceMetrics()
        store = JobStore(settings.queue)
        # Closing it again does nothing.
        stack.callback(store.close)
        await stack.enter_async_context(judge)
        jobs = ServiceJobs(
            judge,
            store,
            tasks.by_id,
            jobs=judge.jobs,
            limits=settings.jobs,
            on_end=metrics.ended,
        )
        sessions = OpenSessions(judge, settings.sessions)
        parts = ServiceParts(
            judge=judge,
            jobs=jobs,
            sessions=sessions,
            tasks=tasks,
            metrics=metrics,
            runs_dir=settings.runs_dir,
            sandbox=judge.sandbox,
            slots=judge.jobs,
            reward=settings.reward,
        )
        make = partial(uvicorn.Config, ws="none", lifespan="off", log_level="warning")
        config = make(
            make_app(parts, policy, settings.requests),
            http=TimedProtocol,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_CLOSE_SECONDS,
            h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        )
        server = _DrainingServer(config)
        try:
            await _serve_until_drained(server, parts, settings, listener, announce)
        finally:
            await sessions.close_all()
            await asyncio.to_thread(judge.close)
            await jobs.close()
        return not server.was_interrupted


async def _serve_until_drained(
    server: _DrainingServer,
    parts: ServiceParts,
    settings: ServiceSettings,
    listener: socket.socket,
    announce: Callable[[], None],
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    signalled = asyncio.create_task(server.signalled.wait())
    announce()
    await asyncio.wait({serving, signalled}, return_when=asyncio.FIRST_COMPLETED)
    if signalled.done():
        message = f"finishing what runs, for at most {settings.drain_seconds:g} s (Ctrl-C: now)"
        print(message, file=sys.stderr, flush=True)  # noqa: T201 - the service's log
        seconds = settings.drain_seconds

        async def drain() -> None:
            await asyncio.gather(parts.jobs.drain(seconds), parts.sessions.drain(seconds))

        draining = asyncio.create_task(drain())
        interrupted = asyncio.create_task(server.interrupted.wait())
        ends = {serving, draining, interrupted}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        interrupted.cancel()
        # Requests that still wait get an answer: uvicorn would cancel them, with a traceback each.
        parts.jobs.release()
        if not server.was_interrupted:
            await parts.sessions.close_all()
        server.force_exit = server.was_interrupted
        server.should_exit = True
    signalled.cancel()
    await serving
