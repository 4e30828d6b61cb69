"""The open sessions of a service. Idle ones are closed."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from agentbench.extensions.service.messages import SessionDescription
from agentbench.extensions.service.problems import ProblemCode, ProblemError
from agentbench.judge.judge import Judge
from agentbench.judge.judge_session import AsyncSession, SessionContext
from agentbench.tasks.task import Task

_POLL: Final = 5.0  # seconds between two searches for idle sessions
_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """The limits of sessions."""

    max_sessions: int = 256
    idle_seconds: float = 1800.0
    """A session without a call for so long is closed."""


@dataclass(slots=True, kw_only=True, eq=False)
class _OpenSession:
    context: SessionContext
    session: AsyncSession
    used_at: float
    calls: int = 0
    """The number of running calls."""


class OpenSessions:
    """The sessions by their ids. All methods belong to the service's event loop."""

    def __init__(self, judge: Judge, limits: SessionLimits) -> None:
        self._judge = judge
        self._limits = limits
        self._open: dict[str, _OpenSession] = {}
        self._opening = 0
        self.is_draining = False
        self._ended = asyncio.Event()
        self._closing_idle = asyncio.get_running_loop().create_task(self._close_idle())

    def __len__(self) -> int:
        return len(self._open) + self._opening

    async def open(self, task: Task) -> SessionDescription:
        """Open a session; returns once its sandbox is there.

        Raises:
            ProblemError: there are too many, or the service is stopping.
        """
        if self.is_draining:
            raise ProblemError(ProblemCode.DRAINING, headers={"Retry-After": "10"})
        if len(self) >= self._limits.max_sessions:
            detail = f"expected fewer than {self._limits.max_sessions} sessions, found {len(self)}"
            raise ProblemError(ProblemCode.TOO_MANY_SESSIONS, detail, headers={"Retry-After": "30"})
        self._opening += 1
        try:
            context = self._judge.session(task)
            session = await context.__aenter__()
        finally:
            self._opening -= 1
        session_id = secrets.token_urlsafe(_ID_BYTES)
        self._open[session_id] = _OpenSession(
            context=context, session=session, used_at=time.monotonic()
        )
        return self.describe(session_id)

    def describe(self, session_id: str) -> SessionDescription:
        """A session.

        Raises:
            ProblemError: there is none of this id.
        """
        session = self._found(session_id).session
        return SessionDescription(
            id=session_id,
            is_ready=session.is_ready,
            workspace=str(session.workspace) if session.is_ready else None,
            problem=session.problem,
        )

    @asynccontextmanager
    async def used(self, session_id: str) -> AsyncIterator[AsyncSession]:
        """A session, which is not idle during the block.

        Raises:
            ProblemError: there is none of this id.
        """
        entry = self._found(session_id)
        entry.calls += 1
        try:
            yield entry.session
        finally:
            entry.calls -= 1
            entry.used_at = time.monotonic()

    async def close(self, session_id: str) -> None:
        """Close a session, and remove its sandbox.

        Raises:
            ProblemError: there is none of this id.
        """
        await self._close(session_id, self._found(session_id))

    async def drain(self, seconds: float) -> None:
        """Open nothing more; wait at most so long until the sessions have ended."""
        self.is_draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._open:
                    self._ended.clear()
                    await self._ended.wait()

    async def close_all(self) -> None:
        self.is_draining = True
        self._closing_idle.cancel()
        with suppress(asyncio.CancelledError):
            await self._closing_idle
        await asyncio.gather(*(self._close(*each) for each in tuple(self._open.items())))

    def _found(self, session_id: str) -> _OpenSession:
        found = self._open.get(session_id)
        if found is None:
            raise ProblemError(ProblemCode.UNKNOWN_SESSION)
        return found

    async def _close(self, session_id: str, entry: _OpenSession) -> None:
        if self._open.pop(session_id, None) is None:
            return  # another call closes it
        # A command that still runs ends now.
        kind = asyncio.CancelledError if entry.calls else None
        await entry.context.__aexit__(kind)
        self._ended.set()

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(min(_POLL, self._limits.idle_seconds))
            before = time.monotonic() - self._limits.idle_seconds
            for session_id, entry in tuple(self._open.items()):
                if not entry.calls and entry.used_at < before:
                    await self._close(session_id, entry)
