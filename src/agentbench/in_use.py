"""Who uses a thing that many processes share, so that nobody removes it from under them."""

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentbench.file_lock import FileLock, LockHeldError


class Use:
    """A share in a thing, from now until this object or its process is gone."""

    def __init__(self, thing: Path) -> None:
        self._descriptor = _opened(thing)
        weakref.finalize(self, os.close, self._descriptor)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)


def making(thing: Path) -> FileLock:
    """To be held while a thing is looked at, made, and taken into use."""
    return FileLock(thing.with_name(f"{thing.name}.lock"))


@contextmanager
def removing(thing: Path) -> Iterator[bool]:
    """Whether a thing may be removed: nobody uses or makes it, nor does so meanwhile."""
    lock = making(thing)
    try:
        lock.acquire(timeout=0)
    except LockHeldError:
        yield False
        return
    descriptor = _opened(thing)
    try:
        yield _is_alone(descriptor)
    finally:
        os.close(descriptor)
        lock.release()


def users_of(thing: Path) -> Path:
    """The file that all who use a thing hold a lock on."""
    return thing.with_name(f"{thing.name}.users")


def _opened(thing: Path) -> int:
    return os.open(users_of(thing), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _is_alone(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
