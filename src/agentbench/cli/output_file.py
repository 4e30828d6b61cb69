"""Where a command writes what it prints: a file that is there whole or not at all, or stdout."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from agentbench.errors import UsageError


@contextmanager
def writing_to(path: Path | None) -> Iterator[TextIO]:
    """A text file that takes its name when all of it was written; stdout where no path is given.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        yield sys.stdout
        return
    try:
        if path.exists() and not path.is_file():  # a device, or a pipe that somebody reads
            with path.open("w", encoding="utf-8", newline="") as target:
                yield target
        else:
            yield from _whole(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}); choose another --output"
        ) from error


def _whole(path: Path) -> Iterator[TextIO]:
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    scratch = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as target:
            yield target
        scratch.chmod(0o666 & ~_umask())  # as any file that a program makes
        scratch.replace(path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
