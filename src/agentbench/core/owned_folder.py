"""Temporary folders with an owner: a lock tells those of a dead process from all others.

The owner holds a lock on a file in its folder. The system releases it however the process ends, and
it means the same to processes that see each other's numbers differently.
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
"""The file that is locked; holds the number of the process, for people."""

_GRACE_SECONDS = 10  # that a new folder may be without its file; some 0.1 ms are seen


@contextmanager
def owned_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder, removed at the end; until then a lock says that somebody needs it.

    Args:
        prefix: How its name begins.
        parent: Where it is made; None: where temporary files are.

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
    """Own a folder for a block: nobody else takes it for a dead one's."""
    fresh = folder / f"{OWNER}.new"
    with fresh.open("w") as lock:
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh.rename(folder / OWNER)  # so that it is locked from when it is there
        yield


def is_owned(folder: Path) -> bool:
    """Whether the process that made a folder lives and needs it."""
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
        return True  # another user's; only that one can tell
    return False


def has_owner_file(folder: Path) -> bool:
    """Whether a folder is one of these at all, and of this very user."""
    with suppress(OSError):
        return (folder / OWNER).is_file() and folder.lstat().st_uid == os.geteuid()
    return False
