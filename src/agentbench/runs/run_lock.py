"""One process at a time makes a run's attempts; its end, however it comes, lets the next one in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentbench.errors import UsageError
from agentbench.file_lock import FileLock, LockHeldError
from agentbench.runs.storage import writing_into

_LOCK = "run.lock"  # the system lets go of it when its owner is gone, killed or not


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
            lock.acquire(timeout=0)
        except LockHeldError:
            raise UsageError(
                f"{folder}: another process is making this run's attempts; wait for its end, or "
                "end it with Ctrl-C and go on with `agentbench resume`"
            ) from None
    try:
        yield
    finally:
        lock.release()
