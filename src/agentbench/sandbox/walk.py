"""Opens and walks a tree that a stranger laid out.

However deep, following no link, with few descriptors.

A path of ten thousand folders is longer than the kernel takes, deeper than Python recurses and
wants more descriptors than a process has. So the walk holds the folders near the root open, and
comes back up from below them by `..`, looking whether it is where it came from.
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
    """A descriptor of a folder below a root of ours.

    Raises:
        OSError: a part is missing, is a link or is no folder.
    """
    descriptor = os.open(root, FOLDER)
    for part in parts:
        try:
            deeper = open_unlocking(part, FOLDER, descriptor)
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


def open_unlocking(name: str, flags: int, folder: int) -> int:
    """Open a name, first giving its owner the right to if that is what is missing.

    Raises:
        OSError: it is missing, is a link, or is another's.
    """
    return _opened_by_force(name, flags, folder, keep_mode=False)


def open_restoring_mode(name: str, flags: int, folder: int) -> int:
    """Open a name as `open_unlocking` does, and let it have its mode again: somebody works there.

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


_HELD = 64  # folders that stay open, from the root down

OpenBelow = Callable[[str, int, int], int]
"""Opens a name with flags below an open folder, as `open_unlocking` does."""


@dataclass(slots=True, kw_only=True)
class WalkLevel:
    """One folder on the way from the root to where a walk is."""

    name: str
    descriptor: int | None
    identity: tuple[int, int]
    names: list[str] = field(default_factory=list)  # of folders in it that are still to be seen


class DeepWalk:
    """A place in a tree, from which one goes down a name or up again."""

    def __init__(self, root: int, opened: OpenBelow = open_unlocking) -> None:
        """Begin at an open folder, which stays the caller's."""
        self._open = opened
        self._levels: list[WalkLevel] = []
        self._enter("", os.dup(root))

    def __enter__(self) -> "DeepWalk":
        """Walk for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is open."""
        for level in self._levels:
            _close(level)
        self._levels.clear()

    @property
    def folder(self) -> int:
        """The open folder that the walk is in; another one after each step."""
        return _descriptor(self._levels[-1])

    @property
    def depth(self) -> int:
        """How many folders it is below the root."""
        return len(self._levels) - 1

    @property
    def path(self) -> str:
        """The way from the root: empty, or names that end with a slash each."""
        return "".join(f"{level.name}/" for level in self._levels[1:])

    @property
    def names(self) -> list[str]:
        """The names of folders here that are still to be gone down."""
        return self._levels[-1].names

    def down(self, name: str) -> None:
        """Into a folder by its name.

        Raises:
            OSError: it is gone, is no folder, or cannot be opened.
        """
        above = self._levels[-1]
        self._enter(name, self._open(name, FOLDER, self.folder))
        if len(self._levels) > _HELD:
            _close(above)

    def up(self) -> str:
        """Back to the folder above; returns the name that this one has there.

        Raises:
            OSError: this folder is elsewhere by now. The walk is then in the deepest folder on
                the way to it that is known to be where it was.
        """
        left, above = self._levels.pop(), self._levels[-1]
        try:
            if above.descriptor is None:
                above.descriptor = self._open("..", FOLDER, _descriptor(left))
                _require(above)
        except OSError:
            self._fall_back()
            raise
        finally:
            _close(left)
        return left.name

    def _enter(self, name: str, descriptor: int) -> None:
        identity = _identity(descriptor)
        self._levels.append(WalkLevel(name=name, descriptor=descriptor, identity=identity))

    def _fall_back(self) -> None:
        while len(self._levels) >= _HELD:
            _close(self._levels.pop())


def remove_below(folder: int) -> None:
    """Remove all that lies in an open folder, giving ourselves the right to where it is lacking.

    Raises:
        OSError: something cannot be removed.
    """
    with DeepWalk(folder) as walk:
        _remove_files(walk)
        while walk.depth or walk.names:
            with contextlib.suppress(FileNotFoundError):  # somebody else was there before us
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
    """Every entry of a tree, folder by folder; one that changes meanwhile is walked in part."""
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
    assert level.descriptor is not None  # only those above the walk's own are ever closed
    return level.descriptor


def _require(level: WalkLevel) -> None:
    if _identity(_descriptor(level)) != level.identity:
        raise OSError(errno.ESTALE, "moved during the walk", level.name)


def _close(level: WalkLevel) -> None:
    if level.descriptor is not None:
        os.close(level.descriptor)
        level.descriptor = None
