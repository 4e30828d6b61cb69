"""Folders as bytes, for the way between machines: bounded, and unpacked with care."""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

LONGEST = 64 << 20
"""Bytes of files that travel with one attempt; its logs as a rule come to some hundred KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A folder as a tar, and what was too large to go in."""

    content: bytes
    left_out: tuple[str, ...]


def pack(folder: Path, *, limit: int = LONGEST) -> Packed:
    """Pack what is in a folder, the small files first, as far as the limit goes."""
    files = [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
    sizes = {path: path.lstat().st_size for path in files}
    left, left_out, buffer = limit, [], io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(files, key=lambda path: (sizes[path], path)):
            name = path.relative_to(folder).as_posix()
            left -= sizes[path]
            if left < 0:
                left_out.append(name)
            else:
                archive.add(path, name)
    return Packed(content=buffer.getvalue(), left_out=tuple(left_out))


def unpack(content: bytes, folder: Path) -> None:
    """Write what was packed into a folder; nothing is written outside of it.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
        tarfile.TarError: it was not packed by `pack`.
    """
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")
