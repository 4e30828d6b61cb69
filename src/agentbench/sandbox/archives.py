"""Trees and files as plain tar archives: written, read and unpacked on the host, or in the sandbox.

The folders of a sandbox are untrusted and may change meanwhile. So every name is opened relative to
an open folder, without following links. A program in the sandbox, which links do not lead out of,
handles unusual entries: a link or file in place of a folder, a folder in place of a file, a name
with `..`, a member that is neither file, folder nor link.
"""

import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.sandbox.trees import (
    FILE,
    FOLDER,
    DeepWalk,
    FileOwner,
    closing_descriptor,
    entries_of,
    open_unlocking,
)

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
        if kind == tarfile.DIRTYPE:
            walk.names.append(entry.name)
        if kind != tarfile.REGTYPE:
            continue
        # Exactly the number of bytes in the header, even if the file changes meanwhile: otherwise
        # its rest would be read as the header of another member.
        missing = facts.st_size
        with closing_descriptor(open_unlocking(entry.name, FILE, walk.folder)) as file:
            while missing and (chunk := os.read(file, min(missing, _CHUNK))):
                missing -= len(chunk)
                yield chunk
        if padding := missing + -facts.st_size % tarfile.BLOCKSIZE:
            yield b"\0" * padding
    walk.names.reverse()


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


_NEW_FOLDER = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE})
_MODE = 0o777  # without the set-user-id and similar bits


class _UnusualEntryError(Exception):
    """A program in the sandbox has to handle the entry."""


def unpack_below(
    root: int, parts: tuple[str, ...], tar: bytes, owner: FileOwner, doing: str
) -> bool:
    """Unpack a plain tar below an open folder; all members will belong to the owner.

    Returns:
        Whether it was unpacked; if not, the sandbox has to unpack it again.
    """
    try:
        os.close(_folder(root, parts, owner))
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for member in archive:
                _write_member(root, (*parts, *_names(member)), member, archive, owner)
            for member in filter(tarfile.TarInfo.isdir, archive):
                # New entries have changed the time.
                with closing_descriptor(_folder(root, (*parts, *_names(member)), owner)) as folder:
                    os.fchmod(folder, member.mode & _MODE)
                    os.utime(folder, (member.mtime, member.mtime))
    except _UnusualEntryError:
        return False
    except tarfile.TarError as fault:
        raise SandboxError(f"{doing}: not a plain tar: {fault}") from fault
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
    return True


def _names(member: tarfile.TarInfo) -> tuple[str, ...]:
    names = tuple(name for name in member.name.split("/") if name not in {"", "."})
    if ".." in names or member.name.startswith("/") or member.type not in _KINDS:
        raise _UnusualEntryError
    return names


def _write_member(
    root: int,
    names: tuple[str, ...],
    member: tarfile.TarInfo,
    archive: tarfile.TarFile,
    owner: FileOwner,
) -> None:
    if member.isdir():
        os.close(_folder(root, names, owner))
        return
    if not names:
        raise _UnusualEntryError
    name = names[-1]
    with closing_descriptor(_folder(root, names[:-1], owner)) as above:
        with suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=above)
            except (IsADirectoryError, PermissionError) as fault:
                raise _UnusualEntryError from fault
        if member.issym():
            os.symlink(member.linkname, name, dir_fd=above)
            os.chown(name, owner.uid, owner.gid, dir_fd=above, follow_symlinks=False)
            os.utime(name, (member.mtime, member.mtime), dir_fd=above, follow_symlinks=False)
            return
        try:
            descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=above)
        except FileExistsError as fault:  # another process created it
            raise _UnusualEntryError from fault
        with os.fdopen(descriptor, "wb") as file:
            source = archive.extractfile(member)
            file.write(source.read() if source is not None else b"")
            file.flush()
            os.fchown(descriptor, owner.uid, owner.gid)
            os.fchmod(descriptor, member.mode & _MODE)
            os.utime(descriptor, (member.mtime, member.mtime))


def _folder(root: int, names: tuple[str, ...], owner: FileOwner) -> int:
    current = os.dup(root)
    for name in names:
        try:
            created = False
            with suppress(FileExistsError):
                os.mkdir(name, _NEW_FOLDER, dir_fd=current)
                created = True
            try:
                deeper = os.open(name, FOLDER, dir_fd=current)
            except OSError as fault:
                raise _UnusualEntryError from fault
            if created:
                os.fchown(deeper, owner.uid, owner.gid)
                os.fchmod(deeper, _NEW_FOLDER)
        finally:
            os.close(current)
        current = deeper
    return current
