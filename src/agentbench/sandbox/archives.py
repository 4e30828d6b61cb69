"""Trees and files as plain tar archives: written and read on the host, unpacked in the sandbox."""

import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.sandbox.trees import FILE, DeepWalk, closing_descriptor, entries_of, open_unlocking

_CHUNK = 1 << 20
_READS_AFTER_END = 3
_LONGEST_PATH = 4096  # bytes: Linux' PATH_MAX
_MEMBER_TYPES = {
    stat.S_IFREG: tarfile.REGTYPE,
    stat.S_IFDIR: tarfile.DIRTYPE,
    stat.S_IFLNK: tarfile.SYMTYPE,
    stat.S_IFIFO: tarfile.FIFOTYPE,
    stat.S_IFCHR: tarfile.CHRTYPE,
    stat.S_IFBLK: tarfile.BLKTYPE,
}
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
"""The program of `write_tree` for unusual trees; it runs as the sandbox's user, follows links."""


def tar_of_file(name: str, content: bytes) -> bytes:
    """A tar of one file."""
    return tar_of_files({PurePosixPath(name): FileContent(content=content, executable=False)})


def tar_of_files(files: Mapping[PurePosixPath, FileContent], *, modified_at: float = 0) -> bytes:
    """A tar of files and of the folders that they are in, all with one time of modification."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted({parent for path in files for parent in path.parents}):
            if folder.name:
                member = tarfile.TarInfo(folder.as_posix())
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                member.mtime = modified_at
                archive.addfile(member)
        for path, file in files.items():
            member = tarfile.TarInfo(path.as_posix())
            member.mode, member.size = 0o755 if file.executable else 0o644, len(file.content)
            member.mtime = modified_at
            archive.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()


def tar_stream(folder: int) -> Iterator[bytes]:
    """The tree below an open folder as a plain tar, with member names relative to it.

    Sockets, which tar cannot hold, are omitted. Each hard link becomes a file of its own. The
    content of a folder whose path is longer than PATH_MAX is omitted.
    """
    with DeepWalk(folder) as walk:
        yield from _members(walk)
        while walk.depth or walk.names:
            if not walk.names:
                walk.up()
                continue
            walk.down(walk.names.pop())
            if len(os.fsencode(walk.path)) <= _LONGEST_PATH:
                yield from _members(walk)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


def _members(walk: DeepWalk) -> Iterator[bytes]:
    """The entries of a walk's present folder; its subfolders are scheduled for the walk."""
    for entry in entries_of(walk.folder):
        facts = entry.stat(follow_symlinks=False)
        kind = _MEMBER_TYPES.get(stat.S_IFMT(facts.st_mode))
        if kind is None:
            continue
        info = tarfile.TarInfo(walk.path + entry.name)
        info.type, info.mode, info.mtime = kind, stat.S_IMODE(facts.st_mode), int(facts.st_mtime)
        if kind == tarfile.SYMTYPE:
            info.linkname = os.readlink(entry.name, dir_fd=walk.folder)
        elif kind == tarfile.REGTYPE:
            info.size = facts.st_size
        yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        if kind == tarfile.REGTYPE:
            yield from _content(walk.folder, entry.name, facts.st_size)
        elif kind == tarfile.DIRTYPE:
            walk.names.append(entry.name)
    walk.names.reverse()


def _content(folder: int, name: str, size: int) -> Iterator[bytes]:
    """Exactly the number of bytes in the header, even if the file changes meanwhile."""
    missing = size
    with closing_descriptor(open_unlocking(name, FILE, folder)) as file:
        while missing and (chunk := os.read(file, min(missing, _CHUNK))):
            missing -= len(chunk)
            yield chunk
    if padding := missing + -size % tarfile.BLOCKSIZE:
        yield b"\0" * padding


@contextmanager
def open_tar_stream(chunks: Iterable[bytes]) -> Iterator[tarfile.TarFile]:
    """Open a tar that is read once from start to end.

    Raises:
        tarfile.TarError: the stream is not a tar, or is truncated; also at the end of the block,
            since tarfile does not notice a truncation between two members.
    """
    raw = _ChunkReader(chunks)
    try:
        with tarfile.open(fileobj=raw, mode="r|", errorlevel=1) as archive:
            yield archive
            if raw.bytes_read <= archive.offset:
                raise tarfile.ReadError("it is truncated")
    except (ValueError, OverflowError, EOFError) as error:
        # tarfile's exceptions for numbers in a hostile extended header.
        raise tarfile.ReadError(f"a header is invalid: {error}") from error


class TooLongStreamError(tarfile.TarError):
    """A stream has more bytes than its limit."""


def limited(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The chunks of a stream, up to a limit of bytes.

    Raises:
        TooLongStreamError: it has more.
    """
    bytes_read = 0
    for chunk in chunks:
        bytes_read += len(chunk)
        if bytes_read > limit:
            raise TooLongStreamError(f"more than {limit} bytes")
        yield chunk


class _ChunkReader(io.RawIOBase):
    """A file over chunks of bytes for tarfile's stream mode."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = filter(None, chunks)
        self._rest = memoryview(b"")
        self._vain = 0  # reads after the end
        self.bytes_read = 0  # so far

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        part = self._rest if size < 0 else self._rest[:size]
        self._rest = self._rest[len(part) :]
        self.bytes_read += len(part)
        self._vain += not part
        if self._vain > _READS_AFTER_END:
            # tarfile would skip a member that claims a terabyte block by block.
            raise tarfile.ReadError("it is truncated")
        return bytes(part)
