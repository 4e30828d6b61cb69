"""Threads for work that an attempt need not wait for; a run waits for them at its end."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock, Semaphore
from typing import TypeVar

from agentbench.errors import SandboxError

_THREADS = 32
_MAX_PENDING = 64  # removals under way: whoever makes sandboxes faster than they go waits here
_LOG = logging.getLogger("agentbench.cache")

ResultT = TypeVar("ResultT")


class BackgroundTasks:
    """Threads for what nobody waits for. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._slots = Semaphore(_MAX_PENDING)

    def submit(self, work: Callable[[], ResultT]) -> "Future[ResultT]":
        """Do something whose result is wanted later."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="aside")
            return self._pool.submit(work)

    def remove(self, removal: Callable[[], object]) -> None:
        """Remove something; that it cannot be removed is said, and is no fault of an attempt."""
        self._slots.acquire()
        try:
            self.submit(lambda: self._remove(removal))
        except BaseException:
            self._slots.release()
            raise

    def finish(self) -> None:
        """Wait for all that was begun."""
        while True:  # what was under way may have begun more
            with self._lock:
                pool, self._pool = self._pool, None
            if pool is None:
                return
            pool.shutdown()

    def _remove(self, removal: Callable[[], object]) -> None:
        try:
            removal()
        except (SandboxError, OSError) as fault:
            _LOG.warning("a sandbox is left behind (%s); the next start removes it", fault)
        finally:
            self._slots.release()
