"""Files that are there whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

UNFINISHED = ".new"
"""The end of the name of a file that is being written."""


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
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
