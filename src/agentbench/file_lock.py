"""A lock on a file, between threads and between processes; the system lets go of a dead owner's.

Over `flock` of the standard library. The filelock package, which was used here, brings asyncio and
sqlite with it: a tenth of a second of every command's start.
"""

import fcntl
import os
import time
from pathlib import Path

_POLL = 0.02  # seconds between two tries, where there is a deadline


class LockHeldError(TimeoutError):
    """Somebody else held the lock all the time that we were to wait."""


class FileLock:
    """One holder at a time. Each object is one of those who want it: it is not taken twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, timeout: float | None = None) -> None:
        """Take the lock.

        Args:
            timeout: Seconds to wait for it; `None` for as long as it takes, 0 for one try.

        Raises:
            LockHeldError: it was not to be had in that time.
            OSError: the file cannot be made, or its file system knows no locks.
        """
        assert self._descriptor is None, "a lock is taken once"
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._descriptor is None:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                _wait(descriptor, deadline)
                if self._is_there(descriptor):
                    self._descriptor = descriptor
            except BlockingIOError:
                raise LockHeldError(f"{self._path}: held by somebody else") from None
            finally:
                if self._descriptor is None:
                    os.close(descriptor)

    def release(self) -> None:
        """Let go of it; the file stays."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> "FileLock":
        """Take the lock, however long it takes."""
        self.acquire()
        return self

    def __exit__(self, *_error: object) -> None:
        """Let go of it."""
        self.release()

    def _is_there(self, descriptor: int) -> bool:
        """Whether the file that we locked still bears the name that others look under."""
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def _wait(descriptor: int, deadline: float | None) -> None:
    """Lock an open file; BlockingIOError at the deadline."""
    if deadline is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, _POLL))
        else:
            return
