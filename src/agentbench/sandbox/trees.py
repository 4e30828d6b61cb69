"""Reads, copies and removes trees that a stranger wrote, following no link in them.

Every step opens one name below an open folder with O_NOFOLLOW, so nothing outside the tree is
reached, whatever the names in it point to. A folder or file whose mode locks out its owner is
unlocked through its own descriptor first.
"""

import contextlib
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_BLOCK = tarfile.BLOCKSIZE

UNPACK = """
import os, sys, tarfile
root = sys.argv[1]
os.makedirs(root, exist_ok=True)
root = os.path.realpath(root)
folders = []
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
    tar.extraction_filter = lambda member, _root: member
    for member in tar:
        path = os.path.normpath(os.path.join(root, member.name))
        above = os.path.realpath(path if path == root else os.path.dirname(path))
        if os.path.commonpath((root, above)) != root:
            sys.exit(f"{member.name!r} leads out of {root}")
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        member.mode &= 0o777
        if member.isdir():
            folders.append((path, member.mode))
            member.mode = 0o700
        tar.extract(member, root)
for path, mode in reversed(folders):
    os.chmod(path, mode)
"""
"""What `write_tree` runs in a sandbox, as its user: a link leads only where that user may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whom a copy is to belong to."""

    uid: int
    gid: int


def open_below(root: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of a folder below a root of ours.

    Raises:
        OSError: a part is missing, is a link or is no folder.
    """
    descriptor = os.open(root, _FOLDER)
    for part in parts:
        try:
            deeper = _open_locked(part, _FOLDER, descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def tar_stream(folder: int) -> Iterator[bytes]:
    """The tree under an open folder as a plain tar, member names relative to it.

    Sockets, which tar cannot hold, are left out. A hard link comes as a file of its own.
    """
    yield from _members(folder, "")
    yield b"\0" * (2 * _BLOCK)


def copy_tree(
    source: Path,
    target: Path,
    *,
    owner: Owner | None = None,
    change: Callable[[bytes], bytes] | None = None,
) -> None:
    """Copy a tree into a folder that exists: modes, times, links; no sockets, pipes or devices.

    Args:
        source: The tree; it may be a stranger's.
        target: An empty folder.
        owner: Whom the copies belong to; None: to us.
        change: Is handed each small file's content and each link's target; returns the new one.

    Raises:
        OSError: the disk is full, or the source is gone.
    """
    from_folder, to_folder = os.open(source, _FOLDER), os.open(target, _FOLDER)
    try:
        _Copy(owner, change).folder(from_folder, to_folder)
    finally:
        os.close(from_folder)
        os.close(to_folder)


def remove_tree(path: Path) -> None:
    """Remove a tree, locked folders too; one that is gone is no fault."""
    if not path.is_symlink():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path, onerror=_unlock_and_retry)


def size_of(path: Path) -> int:
    """Bytes that the regular files of a tree hold, as far as it can be read."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - hot loop
    return total


def _members(folder: int, prefix: str) -> Iterator[bytes]:
    for entry in _sorted(folder):
        facts = entry.stat(follow_symlinks=False)
        info = tarfile.TarInfo(prefix + entry.name)
        info.mode, info.mtime = stat.S_IMODE(facts.st_mode), int(facts.st_mtime)
        if stat.S_ISREG(facts.st_mode):
            info.size = facts.st_size
            yield _header(info)
            yield from _content(folder, entry.name, facts.st_size)
        elif stat.S_ISDIR(facts.st_mode):
            info.type = tarfile.DIRTYPE
            yield _header(info)
            yield from _below(folder, entry.name, prefix)
        elif (kind := _special(facts.st_mode)) is not None:
            info.type = kind
            if kind == tarfile.SYMTYPE:
                info.linkname = os.readlink(entry.name, dir_fd=folder)
            yield _header(info)


def _below(folder: int, name: str, prefix: str) -> Iterator[bytes]:
    deeper = _open_locked(name, _FOLDER, folder)
    try:
        yield from _members(deeper, f"{prefix}{name}/")
    finally:
        os.close(deeper)


def _special(mode: int) -> bytes | None:
    if stat.S_ISLNK(mode):
        return tarfile.SYMTYPE
    if stat.S_ISFIFO(mode):
        return tarfile.FIFOTYPE
    if stat.S_ISCHR(mode):
        return tarfile.CHRTYPE
    return tarfile.BLKTYPE if stat.S_ISBLK(mode) else None


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content(folder: int, name: str, size: int) -> Iterator[bytes]:
    """Exactly as many bytes as the header says, whatever becomes of the file meanwhile."""
    descriptor = _open_locked(name, _FILE, folder)
    left = size
    try:
        while left and (chunk := os.read(descriptor, min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk
    finally:
        os.close(descriptor)
    yield b"\0" * (left + -size % _BLOCK)


def _sorted(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _open_locked(name: str, flags: int, folder: int) -> int:
    """Open a name, first giving its owner the right to if that is what is missing."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        needed = 0o700 if flags & os.O_DIRECTORY else 0o400
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        os.chmod(f"/proc/self/fd/{handle}", mode | needed)  # noqa: PTH101 - a descriptor, no path
    finally:
        os.close(handle)
    return os.open(name, flags, dir_fd=folder)


class _Copy:
    """One run of `copy_tree`."""

    _SMALL = 1 << 20  # no script or path file is larger

    def __init__(self, owner: Owner | None, change: Callable[[bytes], bytes] | None) -> None:
        self._owner = owner
        self._change = change

    def folder(self, source: int, target: int) -> None:
        for entry in _sorted(source):
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode):
                self._file(source, target, entry.name, facts)
            elif stat.S_ISDIR(facts.st_mode):
                self._deeper(source, target, entry.name)
            elif stat.S_ISLNK(facts.st_mode):
                self._link(source, target, entry.name)
        self._finish(source, target)

    def _deeper(self, source: int, target: int, name: str) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        from_folder = _open_locked(name, _FOLDER, source)
        to_folder = os.open(name, _FOLDER, dir_fd=target)
        try:
            self.folder(from_folder, to_folder)
        finally:
            os.close(from_folder)
            os.close(to_folder)

    def _file(self, source: int, target: int, name: str, facts: os.stat_result) -> None:
        from_file = _open_locked(name, _FILE, source)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        to_file = os.open(name, flags, 0o600, dir_fd=target)
        try:
            if self._change is not None and facts.st_size <= self._SMALL:
                content = os.read(from_file, self._SMALL)
                os.write(to_file, self._change(content))
            else:
                while os.sendfile(to_file, from_file, None, _CHUNK):
                    pass
            self._finish(from_file, to_file)
        finally:
            os.close(from_file)
            os.close(to_file)

    def _link(self, source: int, target: int, name: str) -> None:
        leads_to = os.fsencode(os.readlink(name, dir_fd=source))
        if self._change is not None:
            leads_to = self._change(leads_to)
        os.symlink(leads_to, name, dir_fd=target)
        if self._owner is not None:
            os.chown(name, self._owner.uid, self._owner.gid, dir_fd=target, follow_symlinks=False)

    def _finish(self, source: int, target: int) -> None:
        facts = os.fstat(source)
        if self._owner is not None:
            os.fchown(target, self._owner.uid, self._owner.gid)
        os.fchmod(target, stat.S_IMODE(facts.st_mode) & 0o1777)  # no set-id bits for a new owner
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _unlock_and_retry(action: Callable[..., object], path: str, _fault: object) -> None:
    """What `shutil.rmtree` calls on a fault: unlock the folder (and its parent), try again."""
    for locked in (os.path.dirname(path), path):  # noqa: PTH120 - rmtree hands out text
        if not os.path.islink(locked):  # noqa: PTH114 - as above
            with contextlib.suppress(FileNotFoundError):
                os.chmod(locked, 0o700)  # noqa: PTH101 - as above
    if action in (os.unlink, os.rmdir):
        action(path)
    elif os.path.isdir(path):  # noqa: PTH112 - as above
        shutil.rmtree(path, onerror=_unlock_and_retry)
