"""Unpacks a tar of installed programs, and refuses entries that lead out of it."""

import os
import shutil
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

    Files are readable by all, and executable by all or by none. No link is ever followed.

    Raises:
        UnsafeTreeError: a member leads out of the tree, is a device or a pipe, or it is too large.
        tarfile.TarError: it is not a tar, or it is truncated.
        OSError: the disk is full.
    """
    tree = _UnpackedTree(root=target)
    with open_tar_stream(chunks) as archive:
        for number, member in enumerate(archive, 1):
            tree.size += member.size if member.isreg() else 0
            if number > most_members or tree.size > most_bytes:
                raise UnsafeTreeError(f"more than {most_members} files or {most_bytes >> 20} MiB")
            tree.add(member, archive)
    # Links are created last: a file that is written through one would land elsewhere.
    for path, leads_to in tree.links.items():
        try:
            path.symlink_to(leads_to)
        except FileExistsError:
            raise UnsafeTreeError(f"{path.name!r} occurs twice") from None
    return tree.size


@dataclass(slots=True, kw_only=True)
class _UnpackedTree:
    root: Path
    size: int = 0
    links: dict[Path, str] = field(default_factory=dict)
    _folders: set[PurePosixPath] = field(default_factory=lambda: {PurePosixPath()})

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        path = _checked_path(member.name)
        if member.isdir():
            self._folder(path)
            return
        self._folder(path.parent)
        if member.isreg():
            content = archive.extractfile(member)
            assert content is not None  # a regular file has one
            # An entry may exist already as a link that an installer's archive made.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                descriptor = os.open(self.root / path, flags, 0o600)
            except FileExistsError:
                raise UnsafeTreeError(f"{member.name!r} occurs twice") from None
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(content, file, _CHUNK)
                file.flush()
                os.fchmod(descriptor, 0o755 if member.mode & 0o100 else 0o644)
                # Compiled Python is valid only for the modification time of its source.
                os.utime(descriptor, (member.mtime, member.mtime))
        elif member.issym():
            self.links[self.root / path] = member.linkname
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


def _checked_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise UnsafeTreeError(f"{name!r} leads out of the tree")
    return path
