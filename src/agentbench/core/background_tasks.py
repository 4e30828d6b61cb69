"""Work in background threads, such as the removal of sandboxes."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock, Semaphore
from typing import TypeVar

from agentbench.errors import SandboxError

_THREADS = 32
_MAX_PENDING = 64  # removals; a caller that creates sandboxes faster than that waits
_LOG = logging.getLogger("agentbench.cache")

ResultT = TypeVar("ResultT")


class BackgroundTasks:
    """Runs work in background threads. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._slots = Semaphore(_MAX_PENDING)
        self._last: list[Callable[[], object]] = []

    def submit(self, work: Callable[[], ResultT]) -> "Future[ResultT]":
        """Start work; the future holds its result."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="background")
            return self._pool.submit(work)

    def remove(self, removal: Callable[[], object]) -> None:
        """Remove something in the background; a failure is logged and affects no attempt."""

        def remove() -> None:
            try:
                removal()
            except (SandboxError, OSError) as fault:
                _LOG.warning("a sandbox is left behind (%s); the next start removes it", fault)
            finally:
                self._slots.release()

        self._slots.acquire()
        try:
            self.submit(remove)
        except BaseException:
            self._slots.release()
            raise

    def at_end(self, work: Callable[[], object]) -> None:
        """Call a function when `finish` is called; it may start more work."""
        self._last.append(work)

    def finish(self) -> None:
        """Call the functions of `at_end`, and wait until all work has ended."""
        for work in self._last:
            work()
        while True:  # running work may have started more
            with self._lock:
                pool, self._pool = self._pool, None
            if pool is None:
                return
            pool.shutdown()
