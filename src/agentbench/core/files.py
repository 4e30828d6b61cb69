"""Files and folders as values, and folders that one process owns.

The owner holds a lock on a file in its folder. The system releases the lock however the process
ends. Unlike a process id, a lock means the same in every pid namespace.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The errors of a file that cannot grow."""
UNFINISHED = ".new"
"""The end of the name of a file that is being written."""
_IDENTITY_BYTES = 16
_IDENTITY = re.compile(rf"[0-9a-f]{{{2 * _IDENTITY_BYTES}}}")
OWNER = "owner"
"""The name of the locked file. It holds the process id, for people."""
_GRACE_SECONDS = 10  # for this long, a new folder may lack its file; usually 0.1 ms


def write_atomically(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file under a temporary name, then rename it.

    Args:
        path: The file; an existing one is replaced.
        content: All of it.
        durable: Whether the file and its name must survive a power cut.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with scratch.open("xb") as target:
            target.write(content)
            if durable:
                # Otherwise a power cut could leave an empty file of that name: some file systems
                # write the new name before the content.
                target.flush()
                os.fsync(target.fileno())
        scratch.replace(path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def refuse_special_file(path: Path) -> None:
    """Refuse a pipe or a device, whose reading may never end.

    Raises:
        OSError: it is one, or does not exist.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "expected a file, found a pipe or a device")


def read_regular_file(path: Path) -> bytes:
    """The content of a file that a user named.

    Raises:
        OSError: it cannot be read, or is a pipe or a device.
    """
    refuse_special_file(path)
    return path.read_bytes()


def describe_read_error(error: Exception) -> str:
    """Why a file cannot be read, in words for users."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return getattr(error, "strerror", None) or str(error)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if its file system supports that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some network file systems refuse it.
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
            # The owner file goes last: if this process is killed now, others see that its owner is
            # dead.
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
        # Renamed only now, so that it is locked as soon as it exists.
        fresh.rename(folder / OWNER)
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
        # Another user's folder, which only that user can check.
        return True
    return False


def has_owner_file(folder: Path) -> bool:
    """Whether a folder has an owner file and belongs to this user."""
    with suppress(OSError):
        return (folder / OWNER).is_file() and folder.lstat().st_uid == os.geteuid()
    return False
