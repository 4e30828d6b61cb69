"""Tar archives for containers, owned by the sandbox's user or readable by all, and from them."""

import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import USER_ID, ReadOnlyMount

_BLOCK = 512
_COPY_CHUNK = 1 << 20


def owned_by_user(tar: bytes, user_id: int = USER_ID) -> bytes:
    """The same plain tar with the sandbox's user as the owner of every member."""
    owned = io.BytesIO()
    try:
        with (
            tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as given,
            tarfile.open(fileobj=owned, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for member in given:
                member.uid = member.gid = user_id
                # These would outrank the attributes.
                kept = {k: v for k, v in member.pax_headers.items() if k not in ("uid", "gid")}
                member.pax_headers = kept
                archive.addfile(member, given.extractfile(member) if member.isreg() else None)
    except tarfile.TarError as fault:
        raise SandboxError(f"the archive is not a plain tar: {fault}") from fault
    return owned.getvalue()


def readable_copies(mounts: Iterable[ReadOnlyMount]) -> Iterator[bytes]:
    """A tar, in chunks, of host files and folders, each under its mount's name.

    All members belong to root and are readable by all. Sockets and the like are omitted.
    """
    with tarfile.open(fileobj=io.BytesIO(), mode="w") as archive:  # finds hard links
        for mount in mounts:
            source = Path(os.path.realpath(mount.source))
            for path in (source, *sorted(source.rglob("*"))):
                name = (mount.name / path.relative_to(source)).as_posix()
                member = archive.gettarinfo(path, name)
                if member is not None:
                    member.uid = member.gid = 0
                    member.uname = member.gname = ""
                    program = member.mode & stat.S_IXUSR or member.isdir()
                    member.mode = 0o755 if program else 0o644
                    yield from _packed(member, path)
    yield bytes(2 * _BLOCK)


def owned_folders(
    folders: Iterable[PurePosixPath],
    files: Mapping[PurePosixPath, bytes],
    user_id: int = USER_ID,
    mode: int = 0o755,
) -> bytes:
    """A tar for the root of a container with folders and small files of the sandbox's user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in (*((folder, None) for folder in folders), *files.items()):
            member = tarfile.TarInfo(str(path).lstrip("/"))
            member.uid = member.gid = user_id
            member.mode, member.type = mode, tarfile.DIRTYPE
            if content is not None:
                member.mode, member.type, member.size = 0o644, tarfile.REGTYPE, len(content)
            archive.addfile(member, io.BytesIO(content or b""))
    return buffer.getvalue()


@contextmanager
def read_archive(
    engine: Engine, container: str, path: str, doing: str
) -> Iterator[Iterator[bytes]]:
    """A file or folder of a container as a tar stream."""
    with engine.api(doing, moves_files=True) as api:
        stream, _ = api.get_archive(container, path, chunk_size=_COPY_CHUNK)

    def chunks() -> Iterator[bytes]:
        with engine.api(doing):
            yield from stream

    with closing(stream):
        yield chunks()


def _packed(member: tarfile.TarInfo, path: Path) -> Iterator[bytes]:
    yield member.tobuf(tarfile.PAX_FORMAT)
    if not member.isreg():
        return
    missing = member.size
    with path.open("rb") as file:
        while missing and (data := file.read(min(missing, _COPY_CHUNK))):
            missing -= len(data)
            yield data
    if missing:
        raise OSError(f"{path} became shorter while it was copied")
    yield bytes(-member.size % _BLOCK)
