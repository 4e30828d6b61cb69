"""Writing into a run's folder: a disk that is full ends the run in one clear line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentbench.errors import StorageError


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Whatever the system refuses in this block is the fault of the folder's disk.

    Raises:
        StorageError: it refused; says why and what to do.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written ({error.strerror or error}); make room or put it back, "
            "then `agentbench resume` goes on with the run"
        ) from error
