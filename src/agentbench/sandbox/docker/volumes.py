"""A container's volumes, read, written and measured.

They are read as folders of this machine where they are such; else the container is asked.

The engine would start a process of its own to pack them, a tenth of a second each time. It takes
root's rights and an engine whose volumes are folders of this machine; their names are random, so
one that is there is the right one.

What already exists was laid out by strangers, and may be changed by them meanwhile: every name is
opened below an open folder and no link is followed. Whatever is not a matter of course is left to
the engine, which knows the container's own root: a link or a file in the place of a folder, a
folder in the place of a file, an owner that is another number on this machine.

Seen from here, nobody inside can disturb the measure. That takes root's rights and an engine whose
volumes are folders of this machine; their names are random, so one that is there is the right one.
"""

import contextlib
import io
import os
import stat
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.archives import tar_stream
from agentbench.sandbox.disk_usage import DiskGauge, DiskUsage, FolderGauge
from agentbench.sandbox.docker.container import DockerContainer
from agentbench.sandbox.docker.container_options import HOME, RESULTS, SCRIPT_FOLDERS, USER_ID
from agentbench.sandbox.walk import FOLDER, open_below


def find_volume(
    container: DockerContainer, path: PurePosixPath
) -> tuple[Path, tuple[str, ...]] | None:
    """The folder of this machine that is the volume of a path, and the way on; None: none is.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    if os.geteuid() != 0 or ".." in path.parts:
        return None
    for place, source in container.volumes().items():
        if path.is_relative_to(place) and Path(source).is_dir():
            return Path(source), path.relative_to(place).parts
    return None


@contextmanager
def read_volume(volume: Path, parts: tuple[str, ...], doing: str) -> Iterator[Iterator[bytes]]:
    """The tree in a volume as a plain tar stream; no link in it is followed.

    Raises:
        SandboxError: there is no such folder, or it changes while it is read.
    """
    try:
        folder = open_below(volume, parts)
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault.strerror}") from fault
    try:
        yield _with_sandbox_error(tar_stream(folder), doing)
    finally:
        os.close(folder)


def _with_sandbox_error(stream: Iterator[bytes], doing: str) -> Iterator[bytes]:
    try:
        yield from stream
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault


_NEW_FOLDER = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE})


class _LeftToEngineError(Exception):
    """The engine is to do it."""


def write_volume(volume: Path, parts: tuple[str, ...], tar: bytes, doing: str) -> bool:
    """Unpack a plain tar below a folder in a volume; all members will belong to the user.

    Returns:
        Whether that was done; else the engine has to do it, over what may be there of it.

    Raises:
        SandboxError: it is no plain tar, or the disk takes no more.
    """
    try:
        root = open_below(volume, ())
        try:
            if os.fstat(root).st_uid != USER_ID:  # the engine has numbers of its own for users
                return False
            os.close(_folder(root, parts))
            with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
                for member in archive:
                    _write_member(root, (*parts, *_names(member)), member, archive)
                for member in filter(tarfile.TarInfo.isdir, archive):
                    _finish(root, (*parts, *_names(member)), member)
        finally:
            os.close(root)
    except _LeftToEngineError:
        return False
    except tarfile.TarError as fault:
        raise SandboxError(f"{doing}: not a plain tar: {fault}") from fault
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
    return True


def _names(member: tarfile.TarInfo) -> tuple[str, ...]:
    names = tuple(name for name in member.name.split("/") if name not in {"", "."})
    if ".." in names or member.name.startswith("/") or member.type not in _KINDS:
        raise _LeftToEngineError
    return names


def _write_member(
    root: int, names: tuple[str, ...], member: tarfile.TarInfo, archive: tarfile.TarFile
) -> None:
    if member.isdir():
        os.close(_folder(root, names))
        return
    if not names:
        raise _LeftToEngineError
    above = _folder(root, names[:-1])
    try:
        with suppress(FileNotFoundError):
            name = names[-1]
            try:
                os.unlink(name, dir_fd=above)
            except (IsADirectoryError, PermissionError) as fault:
                raise _LeftToEngineError from fault
        if member.issym():
            os.symlink(member.linkname, names[-1], dir_fd=above)
            os.chown(names[-1], USER_ID, USER_ID, dir_fd=above, follow_symlinks=False)
            os.utime(names[-1], (member.mtime, member.mtime), dir_fd=above, follow_symlinks=False)
        else:
            source = archive.extractfile(member)
            _write(names[-1], above, source.read() if source is not None else b"", member)
    finally:
        os.close(above)


def _finish(root: int, names: tuple[str, ...], member: tarfile.TarInfo) -> None:
    """Give a folder its mode and time, which what was put into it has changed."""
    folder = _folder(root, names)
    try:
        os.fchmod(folder, stat.S_IMODE(member.mode))
        os.utime(folder, (member.mtime, member.mtime))
    finally:
        os.close(folder)


def _folder(root: int, names: tuple[str, ...]) -> int:
    """A folder below another one, made if need be."""
    here = os.dup(root)
    for name in names:
        try:
            made = False
            try:
                os.mkdir(name, _NEW_FOLDER, dir_fd=here)
                made = True
            except FileExistsError:
                pass
            try:
                folder = os.open(name, FOLDER, dir_fd=here)
            except OSError as fault:
                raise _LeftToEngineError from fault
            if made:
                os.fchown(folder, USER_ID, USER_ID)
                os.fchmod(folder, _NEW_FOLDER)
            deeper = folder
        finally:
            os.close(here)
        here = deeper
    return here


def _write(name: str, above: int, content: bytes, member: tarfile.TarInfo) -> None:
    try:
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=above)
    except FileExistsError as fault:  # somebody was quicker
        raise _LeftToEngineError from fault
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchown(descriptor, USER_ID, USER_ID)
        os.fchmod(descriptor, stat.S_IMODE(member.mode))
        os.utime(descriptor, (member.mtime, member.mtime))


_ANSWERS_WITHIN = 10.0  # seconds
_LOOK_EVERY = 0.05  # seconds
_WRITABLE = (str(RESULTS), str(HOME), "/opt/venv", "/var/tmp", *SCRIPT_FOLDERS)
_MEASURE_SCRIPT = """
PATH=/usr/bin:/bin
for place; do shift; if [ -d "$place" ]; then set -- "$@" "$place"; fi; done
kibibytes=$(du -skxc "$@" 2> /dev/null | tail -n 1)
files=$(find "$@" -xdev -print0 2> /dev/null | tr -dc '\\0' | wc -c)
echo "${kibibytes%%[!0-9]*} $files"
"""


def gauge_of(container: DockerContainer) -> DiskGauge:
    """The best gauge that there is for a container that runs.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    if os.geteuid() == 0:
        folders = [Path(folder) for folder in container.folders()]
        if folders and all(folder.is_dir() for folder in folders):
            return FolderGauge(folders=folders, processes=_ContainerProcesses(container=container))
    return ContainerGauge(container=container)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGauge:
    """Asks by a program in the container, as the commands' user, who could end or deceive it.

    It says nothing where the image has no `du` and `find`, or no process may be added.
    """

    container: DockerContainer

    def free(self) -> DiskUsage | None:
        """Nobody knows."""
        return None

    def measure(self) -> Iterator[DiskUsage | None]:
        """None until the answer is there, if one comes."""
        deadline = time.monotonic() + _ANSWERS_WITHIN
        said = b""
        try:
            places = (str(self.container.plan.workspace), *_WRITABLE)
            started = self.container.begin(["/bin/sh", "-c", _MEASURE_SCRIPT, "sh", *places], {})
        except SandboxError:  # the command's own loop finds out what this means
            return
        with started.wire as wire:
            while not wire.ended and time.monotonic() < deadline:
                said += b"".join(frame.data for frame in wire.receive(_LOOK_EVERY))
                yield None
        with contextlib.suppress(ValueError):
            kibibytes, files = map(int, said.split())
            yield DiskUsage(bytes=kibibytes << 10, files=files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ContainerProcesses:
    """The processes of a container, as this machine numbers them."""

    container: DockerContainer

    def __call__(self) -> Iterator[int]:
        with contextlib.suppress(SandboxError, OSError):
            wanted = _namespace(self.container.pid())
            for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names only
                with contextlib.suppress(OSError):  # it has ended
                    if _namespace(int(name)) == wanted:
                        yield int(name)


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())
