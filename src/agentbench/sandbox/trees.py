"""Copies, measures and removes trees that a stranger wrote, following no link in them."""

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
_DEEPEST = 200  # folders in one another that are copied: three descriptors each
_SMALL = 1 << 20  # no script or path file is larger
_OPAQUE = "user.overlay.opaque"  # how an overlay marks a folder that hides all below it


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """Whom a copy is to belong to."""

    uid: int
    gid: int


def copy_tree(
    source: Path,
    target: Path,
    *,
    owner: FileOwner | None = None,
    change: Callable[[bytes], bytes] | None = None,
    below: Path | None = None,
) -> None:
    """Copy a tree into a folder that exists: modes, times, links; no sockets, pipes or devices.

    Args:
        source: The tree; it may be a stranger's.
        target: An empty folder.
        owner: Whom the copies belong to; None: to us.
        change: Is handed each small file's content and each link's target; returns the new one.
        below: A tree that nobody changes any more, over which an overlay has `source` on top:
            the copy is what the overlay shows, with hard links to what comes from `below`.

    Raises:
        OSError: the disk is full, or the source is gone.
    """
    copy = _Copy(owner, change)
    with contextlib.ExitStack() as keep:
        from_folder, to_folder = (_opened(path, None, keep) for path in (source, target))
        lower = None if below is None else _opened(below, None, keep)
        copy.folder(from_folder, to_folder, lower)


def remove_tree(path: Path) -> None:
    """Remove a tree, locked folders too; one that is gone is no fault.

    Raises:
        OSError: something in it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as keep:
        parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        keep.callback(os.close, parent)
        folder = open_unlocking(path.name, FOLDER, parent)
        keep.callback(os.close, folder)
        remove_below(folder)
        os.rmdir(path.name, dir_fd=parent)


def size_of(path: Path) -> int:
    """Bytes that the regular files of a tree hold, as far as it can be read."""
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
        """Copy what is in `source`, then link what an overlay lets through from `lower`."""
        if depth > _DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"more than {_DEEPEST} folders in one another")
        names = set[str]()
        for entry in entries_of(source):
            names.add(entry.name)
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode):
                self._file(source, target, entry.name, facts)
            elif stat.S_ISDIR(facts.st_mode):
                self._deeper(source, target, entry.name, lower, depth)
            elif stat.S_ISLNK(facts.st_mode):
                leads_to = os.fsencode(os.readlink(entry.name, dir_fd=source))
                if self._change is not None:
                    leads_to = self._change(leads_to)
                os.symlink(leads_to, entry.name, dir_fd=target)
                if self._owner is not None:
                    os.chown(
                        entry.name,
                        self._owner.uid,
                        self._owner.gid,
                        dir_fd=target,
                        follow_symlinks=False,
                    )
            # A device of number 0:0 is how an overlay says that a name was removed.
        if lower is not None:
            self._take_over(lower, target, names)
        self._finish(source, target)

    def _deeper(self, source: int, target: int, name: str, lower: int | None, depth: int) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        with contextlib.ExitStack() as keep:
            from_folder, to_folder = _opened(name, source, keep), _opened(name, target, keep)
            below = None
            if lower is not None and not _is_opaque(from_folder):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    below = _opened(name, lower, keep)
            self.folder(from_folder, to_folder, below, depth + 1)

    def _take_over(self, lower: int, target: int, hidden: set[str]) -> None:
        for entry in entries_of(lower):
            if entry.name in hidden:
                continue
            if not entry.is_dir(follow_symlinks=False):
                name = entry.name
                os.link(name, name, src_dir_fd=lower, dst_dir_fd=target, follow_symlinks=False)
                continue
            os.mkdir(entry.name, 0o700, dir_fd=target)
            with contextlib.ExitStack() as keep:
                deeper = _opened(entry.name, lower, keep)
                to_folder = _opened(entry.name, target, keep)
                self._take_over(deeper, to_folder, set())
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


def _opened(name: str | Path, folder: int | None, keep: contextlib.ExitStack) -> int:
    path = str(name)
    descriptor = os.open(path, FOLDER) if folder is None else open_unlocking(path, FOLDER, folder)
    keep.callback(os.close, descriptor)
    return descriptor


def _is_opaque(folder: int) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:  # it bears no such mark, or the file system knows of none
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Rewrites a path in text, as `copy_tree` wants it; anything with a NUL byte stays."""

    old: str
    new: str

    def __call__(self, content: bytes) -> bytes:
        """The content with every mention of the old path made the new one."""
        old = self.old.encode()
        if old not in content or b"\0" in content:
            return content
        return content.replace(old, self.new.encode())
