"""Plain tar archives of files that the harness hands to a sandbox."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from agentbench.tasks.patched_file import PatchedFile


def tar_of_file(name: str, content: bytes) -> bytes:
    """A tar of one file."""
    return tar_of_files({PurePosixPath(name): PatchedFile(content=content, executable=False)})


def tar_of_files(files: Mapping[PurePosixPath, PatchedFile]) -> bytes:
    """A tar of some files; their folders are made where they are missing."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted({parent for path in files for parent in path.parents}):
            if folder.name:
                archive.addfile(_member(folder, mode=0o755, kind=tarfile.DIRTYPE))
        for path, file in files.items():
            member = _member(path, mode=0o755 if file.executable else 0o644, kind=tarfile.REGTYPE)
            member.size = len(file.content)
            archive.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()


def _member(path: PurePosixPath, *, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.as_posix())
    member.type, member.mode = kind, mode
    return member
