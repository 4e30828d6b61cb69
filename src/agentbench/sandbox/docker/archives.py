"""Tar archives on their way into a container.

Owned by the sandbox's user, or readable by everybody.
"""

import io
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.container_options import USER_ID
from agentbench.sandbox.interface import ReadOnlyMount

_BLOCK = 512
_COPY_CHUNK = 1 << 20
_IDS = slice(108, 124)  # of a header: owner and group, eight bytes each
_CHECKSUM = slice(148, 156)
_PAX_ID = re.compile(rb"(?<= [ug]id=)\d+(?=\n)")


def owned_by_user(tar: bytes) -> bytes:
    """The same plain tar with the sandbox's user as the owner of every member.

    The headers are changed where they are: packing 2,000 files anew costs three times as much.

    Raises:
        SandboxError: it is no plain tar.
    """
    patched = bytearray(tar)
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for member in archive:
                header = member.offset_data - _BLOCK
                _patch(patched, header)
                extended = bytes(patched[member.offset : header])
                patched[member.offset : header] = _PAX_ID.sub(_same_width, extended)
    except tarfile.TarError as fault:
        raise SandboxError(f"what is to be written is not a plain tar: {fault}") from fault
    return bytes(patched)


def readable_copies(mounts: Iterable[ReadOnlyMount]) -> Iterator[bytes]:
    """A tar, in pieces, of files and folders of the host, each under its name.

    All in it belongs to root and is readable by all. Sockets and the like are left out.
    """
    with tarfile.open(fileobj=io.BytesIO(), mode="w") as archive:  # tells hard links
        for mount in mounts:
            source = Path(os.path.realpath(mount.source))
            for path in (source, *sorted(source.rglob("*"))):
                name = (mount.name / path.relative_to(source)).as_posix()
                member = archive.gettarinfo(path, name)
                if member is not None:
                    yield from _packed(_readable(member), path)
    yield bytes(2 * _BLOCK)


def owned_folders(folders: Iterable[PurePosixPath], files: Mapping[PurePosixPath, bytes]) -> bytes:
    """A tar for the root of a container with folders and small files of the sandbox's user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in folders:
            archive.addfile(_owned(folder, tarfile.DIRTYPE, 0o755))
        for path, content in files.items():
            member = _owned(path, tarfile.REGTYPE, 0o644)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _packed(member: tarfile.TarInfo, path: Path) -> Iterator[bytes]:
    yield member.tobuf(tarfile.PAX_FORMAT)
    if not member.isreg():
        return
    left = member.size
    with path.open("rb") as file:
        while left and (data := file.read(min(left, _COPY_CHUNK))):
            left -= len(data)
            yield data
    if left:
        raise OSError(f"{path} became shorter while it was copied")
    yield bytes(-member.size % _BLOCK)


def _owned(path: PurePosixPath, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(str(path).lstrip("/"))
    member.type, member.mode = kind, mode
    member.uid = member.gid = USER_ID
    return member


def _patch(tar: bytearray, header: int) -> None:
    block = tar[header : header + _BLOCK]
    block[_IDS] = b"%07o\0" % USER_ID * 2
    block[_CHECKSUM] = b" " * 8
    block[_CHECKSUM] = b"%06o\0 " % sum(block)
    tar[header : header + _BLOCK] = block


def _same_width(number: re.Match[bytes]) -> bytes:
    return str(USER_ID).encode().zfill(len(number[0]))


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if member.mode & stat.S_IXUSR or member.isdir():
        member.mode = 0o755
    else:
        member.mode = 0o644
    return member
