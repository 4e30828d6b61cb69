"""Copies, measures and removes trees of files that a hostile program wrote.

A path of ten thousand folders exceeds the longest path of the kernel, Python's recursion and a
process's descriptors. So the walk holds only the folders near the root open. It returns from deeper
ones by `..`, and checks that this leads to the folder that it came from. The functions that open a
name raise OSError if it is missing, a link, or not permitted.
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
_MOST_OPEN = 64  # folders that stay open, from the root down
OpenBelow = Callable[[str, int, int], int]
"""Opens a name with flags below an open folder, as `open_unlocking` does."""
_COPY_CHUNK = 1 << 20
_DEEPEST = 200  # nested folders in a copied tree, which take three descriptors each
_SMALL = 1 << 20  # bytes; no script or path file is larger
_OPAQUE = "user.overlay.opaque"  # how an overlay marks a folder that hides the lower one


@contextlib.contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    """Close a descriptor at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(root: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of a folder below a trusted root."""
    descriptor = os.open(root, FOLDER)
    for part in parts:
        with closing_descriptor(descriptor) as above:
            descriptor = open_unlocking(part, FOLDER, above)
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
    path = Path(f"/proc/self/fd/{handle}")
    with closing_descriptor(handle):
        needed = 0o700 if flags & os.O_DIRECTORY else 0o400
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        path.chmod(mode | needed)
        try:
            return os.open(name, flags, dir_fd=folder)
        finally:
            if restore_mode:
                path.chmod(mode)


def open_restoring_mode(name: str, flags: int, folder: int) -> int:
    """Open a name as `open_unlocking` does, and restore its mode, since it is in use."""
    return open_unlocking(name, flags, folder, restore_mode=True)


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
        self._open = opened
        self._levels: list[WalkLevel] = []
        self._enter("", os.dup(root))

    def __enter__(self) -> "DeepWalk":
        return self

    def __exit__(self, *_: object) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """The user and group that files belong to."""

    uid: int
    gid: int


def copy_tree(
    source: Path,
    target: Path,
    *,
    owner: FileOwner | None = None,
    change: Callable[[bytes], bytes] | None = None,
    lower: Path | None = None,
) -> None:
    """Copy an untrusted tree: modes, times and links, but no sockets, pipes or devices.

    Args:
        source: The tree.
        target: An empty folder.
        owner: The owner of the copies; None: this process's user.
        change: Returns the new content of a small file, or the new target of a link.
        lower: An immutable tree, if `source` is the upper folder of an overlay over it: the copy
            is the overlay's content, with hard links to the files from `lower`.

    Raises:
        OSError: the disk is full, or the source does not exist.
    """
    copy = _Copy(owner, change)
    with contextlib.ExitStack() as stack:
        from_folder, to_folder = (_opened(path, None, stack) for path in (source, target))
        lower_folder = None if lower is None else _opened(lower, None, stack)
        copy.folder(from_folder, to_folder, lower_folder)


def remove_tree(path: Path) -> None:
    """Remove a tree, including folders without permissions; a missing one is no error.

    Raises:
        OSError: something in it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as stack:
        above = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        parent = stack.enter_context(closing_descriptor(above))
        remove_below(_opened(path.name, parent, stack))
        os.rmdir(path.name, dir_fd=parent)


def size_of(path: Path) -> int:
    """The bytes of the regular files in a tree, as far as it can be read."""
    try:
        folder = os.open(path, FOLDER)
    except OSError:
        return 0
    total = 0
    with closing_descriptor(folder):
        for entry in entries_below(folder, opened=open_as_it_is):
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


class _Copy:
    """One run of `copy_tree`."""

    def __init__(self, owner: FileOwner | None, change: Callable[[bytes], bytes] | None) -> None:
        self._owner = owner
        self._change = change

    def folder(self, source: int, target: int, lower: int | None, depth: int = 0) -> None:
        """Copy the content of `source`, then link the entries of `lower` that it does not hide."""
        if depth > _DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"more than {_DEEPEST} nested folders")
        names = set[str]()
        for entry in entries_of(source):
            names.add(entry.name)
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode):
                self._file(source, target, entry.name, facts)
            elif stat.S_ISDIR(facts.st_mode):
                self._deeper(source, target, entry.name, lower, depth=depth)
            elif stat.S_ISLNK(facts.st_mode):
                link_target = os.fsencode(os.readlink(entry.name, dir_fd=source))
                if self._change is not None:
                    link_target = self._change(link_target)
                os.symlink(link_target, entry.name, dir_fd=target)
                if self._owner is not None:
                    uid, gid = self._owner.uid, self._owner.gid
                    os.chown(entry.name, uid, gid, dir_fd=target, follow_symlinks=False)
            # A device of number 0:0 marks a name that was removed in an overlay.
        if lower is not None:
            self._link_lower(lower, target, names)
        self._finish(source, target)

    def _deeper(self, source: int, target: int, name: str, lower: int | None, depth: int) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        with contextlib.ExitStack() as stack:
            from_folder, to_folder = _opened(name, source, stack), _opened(name, target, stack)
            deeper = None
            if lower is not None and not _is_opaque(from_folder):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    deeper = _opened(name, lower, stack)
            self.folder(from_folder, to_folder, deeper, depth + 1)

    def _link_lower(self, lower: int, target: int, hidden: set[str]) -> None:
        for entry in entries_of(lower):
            if entry.name in hidden:
                continue
            if not entry.is_dir(follow_symlinks=False):
                name = entry.name
                os.link(name, name, src_dir_fd=lower, dst_dir_fd=target, follow_symlinks=False)
                continue
            os.mkdir(entry.name, 0o700, dir_fd=target)
            with contextlib.ExitStack() as stack:
                deeper = _opened(entry.name, lower, stack)
                to_folder = _opened(entry.name, target, stack)
                self._link_lower(deeper, to_folder, set())
                self._finish(deeper, to_folder)

    def _file(self, source: int, target: int, name: str, facts: os.stat_result) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with (
            closing_descriptor(open_unlocking(name, FILE, source)) as from_file,
            closing_descriptor(os.open(name, flags, 0o600, dir_fd=target)) as to_file,
        ):
            if self._change is not None and facts.st_size <= _SMALL:
                os.write(to_file, self._change(os.read(from_file, _SMALL)))
            else:
                while os.sendfile(to_file, from_file, None, _COPY_CHUNK):
                    pass
            self._finish(from_file, to_file)

    def _finish(self, source: int, target: int) -> None:
        facts = os.fstat(source)
        if self._owner is not None:
            os.fchown(target, self._owner.uid, self._owner.gid)
        os.fchmod(target, stat.S_IMODE(facts.st_mode) & 0o1777)  # no set-id bits for a new owner
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _opened(name: str | Path, folder: int | None, stack: contextlib.ExitStack) -> int:
    path = str(name)
    descriptor = os.open(path, FOLDER) if folder is None else open_unlocking(path, FOLDER, folder)
    return stack.enter_context(closing_descriptor(descriptor))


def _is_opaque(folder: int) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:  # there is no such attribute, or the file system has none
        return False


def relocation(*, old: str, new: str) -> Callable[[bytes], bytes]:
    """A `change` for `copy_tree` that replaces a path in text; binary content stays."""

    def relocated(content: bytes) -> bytes:
        return content if b"\0" in content else content.replace(old.encode(), new.encode())

    return relocated
