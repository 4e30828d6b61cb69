"""File locks between threads and processes: exclusive ones, and shared ones on cache entries.

A shared lock marks a cache entry as in use, so that nothing removes it meanwhile. The system
releases the locks of a dead process.
"""

# The package filelock would do, but it imports asyncio and sqlite: a tenth of a second at the start
# of every command.

import fcntl
import os
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SHARED_FOLDERS = ("/run/lock", "/tmp")
_POLL_SECONDS = 0.02  # between two attempts to lock, since flock has no time limit


class LockHeldError(TimeoutError):
    """Another thread or process held the lock until the time limit."""


class FileLock:
    """A lock on a file, exclusive or shared. An object can acquire it only once at a time."""

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self._path = path
        self._mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._descriptor: int | None = None

    def acquire(self, timeout: float | None = None) -> None:
        """Take the lock.

        Args:
            timeout: Seconds to wait; `None` waits for ever, 0 tries once.

        Raises:
            LockHeldError: the lock was still held at the time limit.
            OSError: the file cannot be created, or its file system has no locks.
        """
        assert self._descriptor is None, "a lock is taken once"
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._descriptor is None:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                _lock_until(descriptor, self._mode, deadline)
                # A lock on a file that was removed or replaced meanwhile protects nothing.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), self._path.stat()):
                        self._descriptor = descriptor
            except BlockingIOError:
                raise LockHeldError(f"{self._path}: held by another process") from None
            finally:
                if self._descriptor is None:
                    os.close(descriptor)

    def release(self) -> None:
        """Release the lock; the file stays."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # To close it is not enough: a process that was forked just now has the descriptor, too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


def machine_lock(name: str, *, shared: bool = False) -> FileLock:
    """A lock for all processes of this user on this machine, regardless of their folders.

    Raises:
        OSError: the folder of the locks cannot be created, or belongs to another user.
    """
    # Not in the cache folder: processes with different cache folders must meet at the same lock.
    usable = (folder for folder in _SHARED_FOLDERS if os.access(folder, os.W_OK))
    folder = Path(next(usable, tempfile.gettempdir()), f"agentbench-locks-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder}: belongs to another user, who has to remove it")
    return FileLock(folder / f"{name}.lock", shared=shared)


def _lock_until(descriptor: int, mode: int, deadline: float | None) -> None:
    if deadline is None:
        fcntl.flock(descriptor, mode)
        return
    while True:
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise
            time.sleep(min(remaining, _POLL_SECONDS))
        else:
            return


class SharedLock:
    """A shared lock on a cache entry, held until this object or its process is gone."""

    def __init__(self, entry: Path) -> None:
        self._descriptor = _open_users_file(entry)
        weakref.finalize(self, os.close, self._descriptor)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)


def creation_lock(entry: Path) -> FileLock:
    """The lock to hold while a cache entry is checked, created and taken into use."""
    return FileLock(entry.with_name(f"{entry.name}.lock"))


@contextmanager
def removal_lock(entry: Path) -> Iterator[bool]:
    """Yield whether a cache entry may be removed; no user can appear within the block."""
    lock = creation_lock(entry)
    try:
        lock.acquire(timeout=0)
    except LockHeldError:
        yield False
        return
    descriptor = _open_users_file(entry)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_unused = False
        else:
            is_unused = True
        yield is_unused
    finally:
        os.close(descriptor)
        lock.release()


def users_file(entry: Path) -> Path:
    """The file that holds the shared locks of a cache entry."""
    return entry.with_name(f"{entry.name}.users")


def _open_users_file(entry: Path) -> int:
    return os.open(users_file(entry), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
