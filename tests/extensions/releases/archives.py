"""Source distributions, packed as build tools do, and as nobody should."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def tar_of(path: Path, files: Mapping[str, str | bytes], *odd: tarfile.TarInfo) -> Path:
    """A .tar.gz of some files, and of members as they are."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in odd:
            tar.addfile(member)
    return path


def zip_of(path: Path, files: Mapping[str, str]) -> Path:
    """A .zip of some files."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A link as a member of a tar."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member
