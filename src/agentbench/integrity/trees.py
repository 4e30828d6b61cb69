"""Reads a workspace from a tar stream, with limits and without git.

The stream is hostile input: each member's header decides before its content is read.
"""

import hashlib
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import IO

from agentbench.sandbox.archives import open_tar_stream

_CHUNK = 1 << 20
BaseContent = Callable[[PurePosixPath], bytes | None]
"""Returns the base's content of a path; `None` if the base does not have the file."""


class EntryKind(StrEnum):
    """The kind of a path."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    OTHER = "other"  # devices, FIFOs, sockets


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One path of a tree; `digest` is the sha256 of a file's content or a symlink's target."""

    kind: EntryKind
    digest: str = ""
    size: int = 0
    executable: bool = False
    offset: int = field(default=0, compare=False)  # of the content in a stored base tree


WorkspaceTree = Mapping[PurePosixPath, TreeEntry]
"""The paths of a workspace without `.git`."""
ReadEntry = Callable[[tarfile.TarInfo, IO[bytes] | None], TreeEntry]
"""Reads a member of a tar, with the content of a regular file."""


def read_tree(chunks: Iterable[bytes], read_entry: ReadEntry | None = None) -> WorkspaceTree:
    """Read a tree that agentbench's own stages created; raises tarfile.TarError.

    Args:
        chunks: The stream.
        read_entry: Reads a member instead of `entry_of`, for example to store its content.

    Raises:
        tarfile.TarError: the stream is not a tar, or is truncated.
    """
    entries: dict[PurePosixPath, TreeEntry] = {}
    with open_tar_stream(chunks) as archive:
        for member in archive:
            path = member_path(member)
            if path is None or is_git(path):
                continue
            if member.islnk():
                target = entries.get(PurePosixPath(member.linkname))
                if target is not None:
                    entries[path] = target
                continue
            source = archive.extractfile(member) if member.isreg() else None
            entries[path] = (read_entry or entry_of)(member, source)
    return entries


def member_path(member: tarfile.TarInfo) -> PurePosixPath | None:
    """A member's path relative to the tree's root; `None` for the root itself."""
    parts = [part for part in PurePosixPath(member.name).parts if part != "."]
    return PurePosixPath(*parts) if parts else None


def is_git(path: PurePosixPath) -> bool:
    """Whether a path is the workspace's `.git` or inside of it."""
    return path.parts[0] == ".git"


def entry_of(
    member: tarfile.TarInfo,
    source: IO[bytes] | None,
    write: Callable[[bytes], object] | None = None,
) -> TreeEntry:
    """The entry of a member; `source` is the content of a regular file, which `write` gets too."""
    if source is not None:
        digest = hashlib.sha256()
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            if write is not None:
                write(chunk)
        return TreeEntry(
            kind=EntryKind.FILE,
            digest=digest.hexdigest(),
            size=member.size,
            executable=bool(member.mode & 0o100),
        )
    if member.issym():
        target = member.linkname.encode("utf-8", "surrogateescape")
        return TreeEntry(kind=EntryKind.SYMLINK, digest=hashlib.sha256(target).hexdigest())
    return TreeEntry(kind=EntryKind.FOLDER if member.isdir() else EntryKind.OTHER)
