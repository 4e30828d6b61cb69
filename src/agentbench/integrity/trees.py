"""Reads a workspace from a tar stream, with limits and without git.

The stream is hostile input: each member's header decides before its content is read.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import IO

_CHUNK = 1 << 20
_READS_AFTER_END = 3
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
    offset: int = field(default=0, compare=False)  # of the content in the stream


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTree:
    """The paths of a workspace without `.git`."""

    entries: Mapping[PurePosixPath, TreeEntry]


def read_tree(chunks: Iterable[bytes]) -> WorkspaceTree:
    """Read a tree that agentbench's own stages created; raises tarfile.TarError.

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
            entries[path] = entry_of(member, source)
    return WorkspaceTree(entries=entries)


@contextmanager
def open_tar_stream(chunks: Iterable[bytes]) -> Iterator[tarfile.TarFile]:
    """A tar that is read once from start to end.

    Raises:
        tarfile.TarError: the stream is not a tar, or is truncated; also at the end of the block,
            since tarfile does not notice a truncation between two members.
    """
    raw = _ChunkReader(iter(chunks))
    try:
        with tarfile.open(fileobj=raw, mode="r|", errorlevel=1) as archive:
            yield archive
            if raw.taken <= archive.offset:
                raise tarfile.ReadError("it is cut off")
    except (ValueError, OverflowError, EOFError) as error:
        # Exceptions of tarfile for the numbers in a hostile extended header.
        raise tarfile.ReadError(f"a header of it makes no sense: {error}") from error


class TooLongStreamError(tarfile.TarError):
    """A stream has more bytes than its limit."""


def limited(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The chunks of a stream, up to so many bytes.

    Raises:
        TooLongStreamError: it has more.
    """
    taken = 0
    for chunk in chunks:
        taken += len(chunk)
        if taken > limit:
            raise TooLongStreamError(f"more than {limit} bytes")
        yield chunk


def member_path(member: tarfile.TarInfo) -> PurePosixPath | None:
    """A member's path relative to the tree's root; `None` for the root itself."""
    parts = [part for part in PurePosixPath(member.name).parts if part != "."]
    return PurePosixPath(*parts) if parts else None


def is_git(path: PurePosixPath) -> bool:
    """Whether a path is the workspace's `.git` or inside of it."""
    return path.parts[0] == ".git"


def entry_of(member: tarfile.TarInfo, source: IO[bytes] | None) -> TreeEntry:
    """The entry of a member; `source` is the content of a regular file."""
    if source is not None:
        digest = hashlib.sha256()
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
        return TreeEntry(
            kind=EntryKind.FILE,
            digest=digest.hexdigest(),
            size=member.size,
            executable=bool(member.mode & 0o100),
            offset=member.offset_data,
        )
    if member.issym():
        target = member.linkname.encode("utf-8", "surrogateescape")
        return TreeEntry(kind=EntryKind.SYMLINK, digest=hashlib.sha256(target).hexdigest())
    return TreeEntry(kind=EntryKind.FOLDER if member.isdir() else EntryKind.OTHER)


class _ChunkReader(io.RawIOBase):
    """A file over chunks of bytes for tarfile's stream mode."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = memoryview(b"")
        self._vain = 0  # reads after the end
        self.taken = 0  # bytes read so far

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read up to so many bytes."""
        parts: list[memoryview] = []
        wanted = size
        while wanted != 0:
            if not self._rest:
                self._rest = memoryview(next(filter(None, self._chunks), b""))
            if not self._rest:
                break
            part = self._rest if wanted < 0 else self._rest[:wanted]
            self._rest = self._rest[len(part) :]
            parts.append(part)
            wanted -= len(part) if wanted > 0 else 0
        read = b"".join(parts)
        self.taken += len(read)
        self._vain += not read
        if self._vain > _READS_AFTER_END:
            # tarfile would skip a member that claims a terabyte block by block.
            raise tarfile.ReadError("it is cut off")
        return read
