"""Temporary folders with an owner, so that those of dead processes can be recognised.

The owner holds a lock on a file in its folder. The system releases the lock however the process
ends. Unlike a process id, a lock means the same in every pid namespace.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OWNER = "owner"
"""The name of the locked file. It holds the process id, for people."""

_GRACE_SECONDS = 10  # a new folder may lack its file that long; about 0.1 ms is usual


@contextmanager
def owned_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Create a folder, locked as in use, and remove it at the end of the block.

    Args:
        prefix: How its name begins.
        parent: The folder to create it in; None: the folder of temporary files.

    Raises:
        OSError: the disk is full, or the parent cannot be written.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with own_folder(folder):
            yield folder
            for path in folder.iterdir():
                if path.name != OWNER:
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        with suppress(OSError):
                            path.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Mark a folder as owned by this process while the block runs."""
    fresh = folder / f"{OWNER}.new"
    with fresh.open("w") as lock:
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh.rename(folder / OWNER)  # so that it is locked from when it is there
        yield


def is_owned(folder: Path) -> bool:
    """Whether a living process owns a folder."""
    try:
        with (folder / OWNER).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        try:
            return time.time() - folder.lstat().st_mtime < _GRACE_SECONDS
        except OSError:
            return False
    except OSError:
        return True  # another user's folder, which only that user can check
    return False


def has_owner_file(folder: Path) -> bool:
    """Whether a folder has an owner file and belongs to this user."""
    with suppress(OSError):
        return (folder / OWNER).is_file() and folder.lstat().st_uid == os.geteuid()
    return False
