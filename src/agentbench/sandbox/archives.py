"""Trees and files as plain tar archives: read on this side, unpacked in the sandbox."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.sandbox.walk import FILE, DeepWalk, entries_of, open_unlocking


def tar_of_file(name: str, content: bytes) -> bytes:
    """A tar of one file."""
    return tar_of_files({PurePosixPath(name): FileContent(content=content, executable=False)})


def tar_of_files(files: Mapping[PurePosixPath, FileContent]) -> bytes:
    """A tar of some files; their folders are made where they are missing."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted({parent for path in files for parent in path.parents}):
            if folder.name:
                archive.addfile(_file_member(folder, mode=0o755, kind=tarfile.DIRTYPE))
        for path, file in files.items():
            member = _file_member(
                path, mode=0o755 if file.executable else 0o644, kind=tarfile.REGTYPE
            )
            member.size = len(file.content)
            archive.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()


def _file_member(path: PurePosixPath, *, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.as_posix())
    member.type, member.mode = kind, mode
    return member


_CHUNK = 1 << 20
_BLOCK = tarfile.BLOCKSIZE
_LONGEST_PATH = 4096  # bytes: Linux' PATH_MAX

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


def tar_stream(folder: int) -> Iterator[bytes]:
    """The tree under an open folder as a plain tar, member names relative to it.

    Sockets, which tar cannot hold, are left out. A hard link comes as a file of its own. A folder
    whose path is longer than any program can say comes without what is in it.
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
    yield b"\0" * (2 * _BLOCK)


def _members(walk: DeepWalk) -> Iterator[bytes]:
    """What lies in the folder that a walk is in; it is to go down into the folders next."""
    prefix = walk.path
    for entry in entries_of(walk.folder):
        facts = entry.stat(follow_symlinks=False)
        info = tarfile.TarInfo(prefix + entry.name)
        info.mode, info.mtime = stat.S_IMODE(facts.st_mode), int(facts.st_mtime)
        if stat.S_ISREG(facts.st_mode):
            info.size = facts.st_size
            yield _header(info)
            # Exactly as many bytes as the header says, whatever becomes of the file meanwhile
            descriptor = open_unlocking(entry.name, FILE, walk.folder)
            left = facts.st_size
            try:
                while left and (chunk := os.read(descriptor, min(left, _CHUNK))):
                    left -= len(chunk)
                    yield chunk
            finally:
                os.close(descriptor)
            if padding := left + -facts.st_size % _BLOCK:
                yield b"\0" * padding
        elif (kind := _special(facts.st_mode)) is not None:
            info.type = kind
            if kind == tarfile.SYMTYPE:
                info.linkname = os.readlink(entry.name, dir_fd=walk.folder)
            yield _header(info)
            if kind == tarfile.DIRTYPE:
                walk.names.append(entry.name)
    walk.names.reverse()


def _special(mode: int) -> bytes | None:
    if stat.S_ISDIR(mode):
        return tarfile.DIRTYPE
    if stat.S_ISLNK(mode):
        return tarfile.SYMTYPE
    if stat.S_ISFIFO(mode):
        return tarfile.FIFOTYPE
    if stat.S_ISCHR(mode):
        return tarfile.CHRTYPE
    return tarfile.BLKTYPE if stat.S_ISBLK(mode) else None


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
