"""Copies, measures and removes untrusted trees, without following links."""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentbench.sandbox.walk import (
    FILE,
    FOLDER,
    entries_below,
    entries_of,
    open_as_it_is,
    open_unlocking,
    remove_below,
)

_COPY_CHUNK = 1 << 20
_DEEPEST = 200  # nested folders in a copied tree, which take three descriptors each
_SMALL = 1 << 20  # bytes; no script or path file is larger
_OPAQUE = "user.overlay.opaque"  # how an overlay marks a folder that hides all below it


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
        parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, parent)
        folder = open_unlocking(path.name, FOLDER, parent)
        stack.callback(os.close, folder)
        remove_below(folder)
        os.rmdir(path.name, dir_fd=parent)


def size_of(path: Path) -> int:
    """The bytes of the regular files in a tree, as far as it can be read."""
    try:
        folder = os.open(path, FOLDER)
    except OSError:
        return 0
    total = 0
    try:
        for entry in entries_below(folder, opened=open_as_it_is):
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    finally:
        os.close(folder)
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
        from_file = open_unlocking(name, FILE, source)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        to_file = os.open(name, flags, 0o600, dir_fd=target)
        try:
            if self._change is not None and facts.st_size <= _SMALL:
                os.write(to_file, self._change(os.read(from_file, _SMALL)))
            else:
                while os.sendfile(to_file, from_file, None, _COPY_CHUNK):
                    pass
            self._finish(from_file, to_file)
        finally:
            os.close(from_file)
            os.close(to_file)

    def _finish(self, source: int, target: int) -> None:
        facts = os.fstat(source)
        if self._owner is not None:
            os.fchown(target, self._owner.uid, self._owner.gid)
        os.fchmod(target, stat.S_IMODE(facts.st_mode) & 0o1777)  # no set-id bits for a new owner
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _opened(name: str | Path, folder: int | None, stack: contextlib.ExitStack) -> int:
    path = str(name)
    descriptor = os.open(path, FOLDER) if folder is None else open_unlocking(path, FOLDER, folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _is_opaque(folder: int) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:  # there is no such attribute, or the file system has none
        return False


def relocation(*, old: str, new: str) -> Callable[[bytes], bytes]:
    """A `change` for `copy_tree` that replaces a path in text; binary content stays."""

    def relocated(content: bytes) -> bytes:
        """The content with the new path."""
        return content if b"\0" in content else content.replace(old.encode(), new.encode())

    return relocated
