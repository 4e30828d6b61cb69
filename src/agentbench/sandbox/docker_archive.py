"""Tar archives on their way into a container."""

import io
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_options import USER_ID
from agentbench.sandbox.interface import ReadOnlyMount

_BLOCK = 512
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


def readable_copies(mounts: Iterable[ReadOnlyMount]) -> bytes:
    """A tar of files and folders of the host, each under its name, root's and readable by all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for mount in mounts:
            archive.add(os.path.realpath(mount.source), arcname=mount.name, filter=_readable)
    return buffer.getvalue()


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
