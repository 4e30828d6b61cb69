"""A workspace as a tar stream shows it: what each path is, by content, never by running git.

The stream of an agent's workspace is hostile input: every decision is made on a member's header,
before its content is read, and all of it is bounded.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import IO

_CHUNK = 1 << 20


class Kind(StrEnum):
    """What a path is."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    OTHER = "other"  # devices, FIFOs, sockets


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One path of a tree; `digest` is the sha256 of a file's content or a symlink's target."""

    kind: Kind
    digest: str = ""
    size: int = 0
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The paths of a workspace, `.git` left out."""

    entries: Mapping[PurePosixPath, Entry]


BaseContent = Callable[[PurePosixPath], bytes | None]
"""Gives the base's content of a path; `None` where the base has no such file."""


def read_tree(chunks: Iterable[bytes]) -> Tree:
    """Read a tree that the harness's own stages made.

    Raises:
        tarfile.TarError: the stream is no tar, or is cut off.
    """
    entries: dict[PurePosixPath, Entry] = {}
    with open_stream(chunks) as archive:
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
            entries[path] = entry_of(member, source)
    return Tree(entries=entries)


@contextmanager
def open_stream(chunks: Iterable[bytes]) -> Iterator[tarfile.TarFile]:
    """A tar that is read once, front to back."""
    raw = _ChunkReader(iter(chunks))
    with tarfile.open(fileobj=raw, mode="r|", errorlevel=1) as archive:
        yield archive


def member_path(member: tarfile.TarInfo) -> PurePosixPath | None:
    """A member's path relative to the tree's root; `None` for the root itself."""
    path = PurePosixPath(member.name)
    parts = [part for part in path.parts if part != "."]
    return PurePosixPath(*parts) if parts else None


def is_git(path: PurePosixPath) -> bool:
    """Whether a path is the workspace's own `.git` or lies in it."""
    return path.parts[0] == ".git"


def entry_of(member: tarfile.TarInfo, source: IO[bytes] | None) -> Entry:
    """What one member is; `source` is its content where it is a regular file."""
    if source is not None:
        digest = hashlib.sha256()
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
        return Entry(
            kind=Kind.FILE,
            digest=digest.hexdigest(),
            size=member.size,
            executable=bool(member.mode & 0o100),
        )
    if member.issym():
        target = member.linkname.encode("utf-8", "surrogateescape")
        return Entry(kind=Kind.SYMLINK, digest=hashlib.sha256(target).hexdigest())
    return Entry(kind=Kind.FOLDER if member.isdir() else Kind.OTHER)


class _ChunkReader(io.RawIOBase):
    """Chunks of bytes as a file that tarfile's stream mode can read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        size = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
