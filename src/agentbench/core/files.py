"""Atomic file writes, random identities of folders, and a file's content as a value."""

import fcntl
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

UNFINISHED = ".new"
"""The end of the name of a file that is being written."""


def write_atomically(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file under another name, then give it its own.

    Args:
        path: The file; one that is there is replaced.
        content: All of it.
        durable: Whether the file and its name must survive a power cut.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with scratch.open("xb") as target:
            target.write(content)
            if durable:  # or a power cut could leave an empty file of that name
                target.flush()
                os.fsync(target.fileno())
        scratch.replace(path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if its file system supports that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some network file systems refuse it
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


_IDENTITY_BYTES = 16
_IDENTITY = re.compile(rf"[0-9a-f]{{{2 * _IDENTITY_BYTES}}}")


def read_or_create_identity(path: Path) -> str:
    """The random identity in a file, created if the file has no valid one.

    Threads and processes that call it at the same time get the same identity.

    Raises:
        OSError: the file can be neither read nor written.
    """
    with path.open("a+", encoding="ascii", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = file.read()
        if _IDENTITY.fullmatch(known):
            return known
        file.truncate(0)
        identity = secrets.token_hex(_IDENTITY_BYTES)
        file.write(identity)
        return identity


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """The content of a file, and whether it is executable."""

    content: bytes
    executable: bool
