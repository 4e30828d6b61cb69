"""Files written whole or not at all, files that identify a folder.

A file's content as a value.
"""

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
        durable: Whether it is to survive a power cut, name and all.

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
    """Have the names in a folder survive a power cut, where its file system can promise that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some network file systems refuse it
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


_IDENTITY_BYTES = 16
_IDENTITY = re.compile(rf"[0-9a-f]{{{2 * _IDENTITY_BYTES}}}")


def read_or_create_identity(path: Path) -> str:
    """The random name in a file; it is made where there is none, or none that is whole.

    Threads and processes that ask at the same time get the same one.

    Raises:
        OSError: the file can neither be read nor made.
    """
    with path.open("a+", encoding="ascii", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = file.read()
        if _IDENTITY.fullmatch(known):
            return known
        file.truncate(0)
        file.write(made := secrets.token_hex(_IDENTITY_BYTES))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """What a file became."""

    content: bytes
    executable: bool
