"""Locks on files, between threads and processes.

Exclusive ones, and shared ones of cache entries.

A shared lock says who uses a cache entry, so that nobody removes it meanwhile. The system releases
the locks of a dead process. Over `flock` of the standard library: the filelock package imports
asyncio and sqlite, which is a tenth of a second of every command's start.
"""

import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.02  # seconds between two tries, where there is a deadline


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
                _lock_until(descriptor, deadline)
                if self._is_still_in_place(descriptor):
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

    def _is_still_in_place(self, descriptor: int) -> bool:
        """Whether the file that we locked still bears the name that others look under."""
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def _lock_until(descriptor: int, deadline: float | None) -> None:
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
            time.sleep(min(left, _POLL_SECONDS))
        else:
            return


class SharedLock:
    """A share in a thing, from now until this object or its process is gone."""

    def __init__(self, thing: Path) -> None:
        self._descriptor = _open_users_file(thing)
        weakref.finalize(self, os.close, self._descriptor)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)


def creation_lock(thing: Path) -> FileLock:
    """To be held while a thing is looked at, made, and taken into use."""
    return FileLock(thing.with_name(f"{thing.name}.lock"))


@contextmanager
def removal_lock(thing: Path) -> Iterator[bool]:
    """Whether a thing may be removed: nobody uses or makes it, nor does so meanwhile."""
    lock = creation_lock(thing)
    try:
        lock.acquire(timeout=0)
    except LockHeldError:
        yield False
        return
    descriptor = _open_users_file(thing)
    try:
        yield _has_no_users(descriptor)
    finally:
        os.close(descriptor)
        lock.release()


def users_file(thing: Path) -> Path:
    """The file that all who use a thing hold a lock on."""
    return thing.with_name(f"{thing.name}.users")


def _open_users_file(thing: Path) -> int:
    return os.open(users_file(thing), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _has_no_users(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
