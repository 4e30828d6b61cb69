"""The files of a source distribution, unpacked below one folder whoever made it."""

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from agentbench.errors import InputError

MOST_BYTES = 256 << 20
"""What the files of one may hold together."""
MOST_FILES = 20_000


def unpack_sdist(archive: Path, target: Path) -> Path:
    """Unpack a .tar.gz, .tar.bz2, .tar.xz or .zip into a new folder; gives the project's own.

    Links that lead out, devices and what is too large are refused before they are written.

    Raises:
        InputError: it is no archive, is damaged or hostile, or holds not just one folder.
        OSError: the disk is full.
    """
    target.mkdir(parents=True)
    with _said_of(archive):
        if archive.suffix == ".zip":
            _unzip(archive, target)
        else:
            _untar(archive, target)
    tops = sorted(target.iterdir())
    if len(tops) != 1 or tops[0].is_symlink() or not tops[0].is_dir():
        found = ", ".join(path.name for path in tops[:3]) or "nothing"
        raise InputError(f"{archive.name}: expected one folder with the project, found {found}")
    return tops[0]


def _untar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in _bounded(tar):
            tar.extract(member, target, filter="data")


def _bounded(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members one by one, so that a bomb is left before it is unpacked."""
    size = 0
    for number, member in enumerate(tar, 1):
        size += member.size if member.isreg() else 0
        _check_size(number, size)
        yield member


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        _check_size(len(members), sum(member.file_size for member in members))
        _check_names(member.filename for member in members)
        for member in members:
            place = target / member.filename
            if member.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(member) as source, place.open("xb") as file:
                shutil.copyfileobj(source, file)


def _check_size(files: int, size: int) -> None:
    if files > MOST_FILES or size > MOST_BYTES:
        raise ValueError(f"holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
            raise ValueError(f"{name!r} leads out of it")


@contextmanager
def _said_of(archive: Path) -> Iterator[None]:
    """One line for whatever is wrong with an archive."""
    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        ValueError,
        NotImplementedError,  # a zip's compression, or its encryption
        RuntimeError,
        FileExistsError,
        NotADirectoryError,
    ) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{archive.name}: cannot be unpacked: {said}") from None
