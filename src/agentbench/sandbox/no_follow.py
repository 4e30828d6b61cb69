"""Opens what a stranger laid out, one name below one open folder at a time, following no link."""

import os
import stat
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_below(root: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of a folder below a root of ours.

    Raises:
        OSError: a part is missing, is a link or is no folder.
    """
    descriptor = os.open(root, FOLDER)
    for part in parts:
        try:
            deeper = open_locked(part, FOLDER, descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def entries_of(folder: int) -> list[os.DirEntry[str]]:
    """What lies in an open folder, by name."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def open_as_it_is(name: str, flags: int, folder: int) -> int:
    """Open a name, if we may.

    Raises:
        OSError: it is missing, is a link, or is not for us.
    """
    return os.open(name, flags, dir_fd=folder)


def open_locked(name: str, flags: int, folder: int) -> int:
    """Open a name, first giving its owner the right to if that is what is missing.

    Raises:
        OSError: it is missing, is a link, or is another's.
    """
    return _opened_by_force(name, flags, folder, keep_mode=False)


def open_and_lock(name: str, flags: int, folder: int) -> int:
    """Open a name as `open_locked` does, and let it have its mode again: somebody works there.

    Raises:
        OSError: it is missing, is a link, or is another's.
    """
    return _opened_by_force(name, flags, folder, keep_mode=True)


def _opened_by_force(name: str, flags: int, folder: int, *, keep_mode: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    path = f"/proc/self/fd/{handle}"
    try:
        needed = 0o700 if flags & os.O_DIRECTORY else 0o400
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        os.chmod(path, mode | needed)  # noqa: PTH101 - a descriptor, no path
        try:
            return os.open(name, flags, dir_fd=folder)
        finally:
            if keep_mode:
                os.chmod(path, mode)  # noqa: PTH101 - a descriptor, no path
    finally:
        os.close(handle)
