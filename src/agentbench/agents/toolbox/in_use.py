"""Who uses a thing that many processes share, so that nobody removes it from under them."""

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Use:
    """A share in what a lock file stands for, from now until this object or its process is gone."""

    def __init__(self, lock: Path) -> None:
        self._descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        weakref.finalize(self, os.close, self._descriptor)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else has a share, and let nobody have one meanwhile."""
        # The lock is given up in between: what was true of the thing has to be looked at again.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)


@contextmanager
def removing(lock: Path) -> Iterator[bool]:
    """Whether the thing may be removed: nobody has a share in it, nor gets one meanwhile."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        allowed = False
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            allowed = True
        yield allowed
    finally:
        os.close(descriptor)
