"""Where a command writes what it prints: a file that is there whole or not at all, or stdout."""

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from agentbench.errors import UsageError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def writing_to(path: Path | None) -> Iterator[TextIO]:
    """A text file that takes its name when all of it was written; stdout where no path is given.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        yield sys.stdout
        return
    is_special = path.exists() and not path.is_file()  # a device, or a pipe that somebody reads
    scratch = path if is_special else _scratch(path)
    try:
        with _opened(scratch, path) as target:
            yield target
        if not is_special:
            scratch.chmod(0o666 & ~_umask())  # as any file that a program makes
            scratch.replace(path)
    except BaseException as error:
        if not is_special:
            with suppress(OSError):
                scratch.unlink()
        # Whatever else fails in the block is not this file's fault.
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _refusal(path, error) from error
        raise


def _scratch(path: Path) -> Path:
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    except OSError as error:
        raise _refusal(path, error) from error
    os.close(number)
    return Path(name)


def _opened(scratch: Path, path: Path) -> TextIO:
    try:
        return scratch.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written ({error.strerror}); choose another --output")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
