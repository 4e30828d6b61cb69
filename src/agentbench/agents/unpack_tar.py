"""Unpacks a tar of installed programs, and refuses entries that lead out of it."""

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentbench.sandbox.archives import open_tar_stream

_CHUNK = 1 << 20
_MAX_BYTES = 6 << 30
_MAX_MEMBERS = 400_000


class UnsafeTreeError(Exception):
    """The tree has a link out of it, a device, or too much data."""


def unpack(
    chunks: Iterator[bytes],
    target: Path,
    *,
    most_bytes: int = _MAX_BYTES,
    most_members: int = _MAX_MEMBERS,
) -> int:
    """Write a tar stream into an empty folder; returns the bytes of its files.

    Files are readable by all, and executable by all or by none. Modification times stay, since
    compiled Python depends on them. Links are created last, and none is ever followed.

    Raises:
        UnsafeTreeError: a member leads out of the tree, is a device or a pipe, or it is too large.
        tarfile.TarError: it is not a tar, or it is truncated.
        OSError: the disk is full.
    """
    tree = _UnpackedTree(root=target, most_bytes=most_bytes, most_members=most_members)
    with open_tar_stream(chunks) as archive:
        for member in archive:
            tree.add(member, archive)
    tree.finish()
    return tree.size


@dataclass(slots=True, kw_only=True)
class _UnpackedTree:
    root: Path
    most_bytes: int
    most_members: int
    size: int = 0
    _members: int = 0
    _links: dict[Path, str] = field(default_factory=dict)
    _folders: set[PurePosixPath] = field(default_factory=lambda: {PurePosixPath()})

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        """Add one member, or refuse it."""
        path = _checked_path(member.name)
        self._count(member)
        if member.isdir():
            self._folder(path)
            return
        self._folder(path.parent)
        if member.isreg():
            self._file(path, member, archive)
        elif member.issym():
            self._links[self.root / path] = member.linkname
        elif member.islnk():
            other = _checked_path(member.linkname)
            try:
                os.link(self.root / other, self.root / path, follow_symlinks=False)
            except (FileNotFoundError, FileExistsError, PermissionError) as error:
                raise UnsafeTreeError(
                    f"{str(path)!r} is a hard link to {str(other)!r}: {error.strerror}"
                ) from None
        else:
            raise UnsafeTreeError(f"{member.name!r} is a device or a pipe")

    def finish(self) -> None:
        """Create the symbolic links after all files are written."""
        for path, leads_to in self._links.items():
            try:
                path.symlink_to(leads_to)
            except FileExistsError:
                raise UnsafeTreeError(f"{path.name!r} occurs twice") from None

    def _count(self, member: tarfile.TarInfo) -> None:
        self._members += 1
        self.size += member.size if member.isreg() else 0
        if self._members > self.most_members or self.size > self.most_bytes:
            raise UnsafeTreeError(
                f"more than {self.most_members} files or {self.most_bytes >> 20} MiB"
            )

    def _folder(self, path: PurePosixPath) -> None:
        if path in self._folders:
            return
        self._folder(path.parent)
        try:
            (self.root / path).mkdir(mode=0o755)
        except FileExistsError:
            raise UnsafeTreeError(f"{str(path)!r} is a file and a folder") from None
        (self.root / path).chmod(0o755)  # whatever the umask
        self._folders.add(path)

    def _file(self, path: PurePosixPath, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        content = archive.extractfile(member)
        assert content is not None  # a regular file has one
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.root / path, flags, 0o600)
        except FileExistsError:
            raise UnsafeTreeError(f"{member.name!r} occurs twice") from None
        with os.fdopen(descriptor, "wb") as file:
            while chunk := content.read(_CHUNK):
                file.write(chunk)
            file.flush()
            os.fchmod(descriptor, 0o755 if member.mode & 0o100 else 0o644)
            os.utime(descriptor, (member.mtime, member.mtime))


def _checked_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise UnsafeTreeError(f"{name!r} leads out of the tree")
    return path
