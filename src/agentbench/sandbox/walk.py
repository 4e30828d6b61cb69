"""Opens and walks untrusted trees of any depth, without following links.

A path of ten thousand folders exceeds the longest path of the kernel, Python's recursion and a
process's descriptors. So the walk holds only the folders near the root open. It returns from deeper
ones by `..`, and checks that this is the folder where it came from. The functions that open a name
raise OSError if it is missing, a link, or not permitted.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_below(root: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of a folder below a trusted root."""
    descriptor = os.open(root, FOLDER)
    for part in parts:
        try:
            deeper = open_unlocking(part, FOLDER, descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def entries_of(folder: int) -> list[os.DirEntry[str]]:
    """The entries of an open folder, sorted by name."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def open_as_it_is(name: str, flags: int, folder: int) -> int:
    """Open a name without changing its mode."""
    return os.open(name, flags, dir_fd=folder)


def open_unlocking(name: str, flags: int, folder: int, *, restore_mode: bool = False) -> int:
    """Open a name, after adding the owner's permissions if these are missing."""
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
            if restore_mode:
                os.chmod(path, mode)  # noqa: PTH101 - a descriptor, no path
    finally:
        os.close(handle)


def open_restoring_mode(name: str, flags: int, folder: int) -> int:
    """Open a name as `open_unlocking` does, and restore its mode, since it is in use."""
    return open_unlocking(name, flags, folder, restore_mode=True)


_MOST_OPEN = 64  # folders that stay open, from the root down

OpenBelow = Callable[[str, int, int], int]
"""Opens a name with flags below an open folder, as `open_unlocking` does."""


@dataclass(slots=True, kw_only=True)
class WalkLevel:
    """A folder between the root and the present folder of a walk."""

    name: str
    descriptor: int | None
    identity: tuple[int, int]
    names: list[str] = field(default_factory=list)  # of subfolders that are still to be visited


class DeepWalk:
    """A position in a tree, which moves down to a subfolder or up again."""

    def __init__(self, root: int, opened: OpenBelow = open_unlocking) -> None:
        """Begin at an open folder; the caller closes it."""
        self._open = opened
        self._levels: list[WalkLevel] = []
        self._enter("", os.dup(root))

    def __enter__(self) -> "DeepWalk":
        """Begin the walk."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all folders."""
        for level in self._levels:
            _close(level)
        self._levels.clear()

    @property
    def folder(self) -> int:
        """The descriptor of the present folder; each step changes it."""
        return _descriptor(self._levels[-1])

    @property
    def depth(self) -> int:
        """The number of folders between the root and the present one."""
        return len(self._levels) - 1

    @property
    def path(self) -> str:
        """The path from the root: empty, or names that each end with a slash."""
        return "".join(f"{level.name}/" for level in self._levels[1:])

    @property
    def names(self) -> list[str]:
        """The names of subfolders that are still to be visited."""
        return self._levels[-1].names

    def down(self, name: str) -> None:
        """Enter a subfolder; it raises OSError if this cannot be opened."""
        above = self._levels[-1]
        self._enter(name, self._open(name, FOLDER, self.folder))
        if len(self._levels) > _MOST_OPEN:
            _close(above)

    def up(self) -> str:
        """Return to the parent; returns the name of the present folder in it.

        Raises:
            OSError: the present folder was moved. The walk continues in its deepest ancestor that
                is still open.
        """
        previous, parent = self._levels.pop(), self._levels[-1]
        try:
            if parent.descriptor is None:
                parent.descriptor = self._open("..", FOLDER, _descriptor(previous))
                if _identity(parent.descriptor) != parent.identity:
                    raise OSError(errno.ESTALE, "moved during the walk", parent.name)  # noqa: TRY301
        except OSError:
            while len(self._levels) >= _MOST_OPEN:
                _close(self._levels.pop())
            raise
        finally:
            _close(previous)
        return previous.name

    def _enter(self, name: str, descriptor: int) -> None:
        identity = _identity(descriptor)
        self._levels.append(WalkLevel(name=name, descriptor=descriptor, identity=identity))


def remove_below(folder: int) -> None:
    """Remove the content of an open folder; missing permissions of the owner are added.

    Raises:
        OSError: something cannot be removed.
    """
    with DeepWalk(folder) as walk:
        _remove_files(walk)
        while walk.depth or walk.names:
            with contextlib.suppress(FileNotFoundError):  # another process removed it first
                if walk.names:
                    walk.down(walk.names.pop())
                    _remove_files(walk)
                else:
                    os.rmdir(walk.up(), dir_fd=walk.folder)


def _remove_files(walk: DeepWalk) -> None:
    mode = stat.S_IMODE(os.fstat(walk.folder).st_mode)
    if mode & 0o700 != 0o700:
        os.fchmod(walk.folder, 0o700)
    with os.scandir(walk.folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                walk.names.append(entry.name)
                continue
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.name, dir_fd=walk.folder)


def entries_below(folder: int, *, opened: OpenBelow) -> Iterator[os.DirEntry[str]]:
    """Every entry of a tree, folder by folder; parts that change meanwhile may be omitted."""
    with DeepWalk(folder, opened) as walk:
        yield from _entries(walk)
        while walk.depth or walk.names:
            with contextlib.suppress(OSError):
                if walk.names:
                    walk.down(walk.names.pop())
                    yield from _entries(walk)
                else:
                    walk.up()


def _entries(walk: DeepWalk) -> Iterator[os.DirEntry[str]]:
    with os.scandir(walk.folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                walk.names.append(entry.name)
            yield entry


def _identity(descriptor: int) -> tuple[int, int]:
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino


def _descriptor(level: WalkLevel) -> int:
    assert level.descriptor is not None  # only ancestors of the present folder are closed
    return level.descriptor


def _close(level: WalkLevel) -> None:
    if level.descriptor is not None:
        os.close(level.descriptor)
        level.descriptor = None
