"""One process at a time makes a run's attempts; its end, however it comes, lets the next one in."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentbench.errors import UsageError
from agentbench.file_lock import FileLock, LockHeldError
from agentbench.runs.storage import writing_into

_LOCK = "run.lock"  # the system lets go of it when its owner is gone, killed or not
_PATIENCE = 0.2  # seconds; whoever looks whether it is held has it for an instant


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep all others from making attempts of the run in this folder.

    Raises:
        UsageError: another process is at it.
        StorageError: the folder's disk is full, or cannot be written.
    """
    lock = FileLock(folder / _LOCK)
    with writing_into(folder):
        try:
            lock.acquire(timeout=_PATIENCE)
        except LockHeldError:
            raise UsageError(
                f"{folder}: another process is making this run's attempts; wait for its end, or "
                "end it with Ctrl-C and go on with `agentbench resume`"
            ) from None
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether a process makes attempts of the run in this folder right now; writes nothing."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # no attempt of it was ever made here, or the folder is gone
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False
