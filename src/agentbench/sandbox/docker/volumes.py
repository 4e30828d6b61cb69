"""Reads, writes and measures a container's volumes and workspace as host folders, if they are some.

This needs root and an engine on this machine. The names of volumes are random, so an existing
folder is the right one. A workspace in the container's layers is read below the container's root,
which an engine mounts while the container runs. The engine itself would start a process for each
archive, which takes a tenth of a second, and a measurement inside the container could be disturbed.

The content is untrusted and may change meanwhile: every name is opened relative to an open folder,
without following links. Unusual entries are handled by the engine, which knows the container's
root: a link or file in place of a folder, a folder in place of a file, a foreign user id.
"""

import io
import os
import stat
import tarfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.archives import tar_stream
from agentbench.sandbox.disk_usage import DiskGauge, DiskUsage, FolderGauge
from agentbench.sandbox.docker.container import DockerContainer
from agentbench.sandbox.docker.container_options import SCRIPT_FOLDERS
from agentbench.sandbox.interface import HOME, RESULTS, USER_ID, VENV
from agentbench.sandbox.trees import FOLDER, closing_descriptor, open_below

_NEW_FOLDER = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE})
_ANSWERS_WITHIN = 10.0  # seconds
_POLL_SECONDS = 0.05
_WRITABLE = (str(RESULTS), str(HOME), str(VENV), "/var/tmp", *SCRIPT_FOLDERS)
_MEASURE_SCRIPT = """
PATH=/usr/bin:/bin
for place; do shift; if [ -d "$place" ]; then set -- "$@" "$place"; fi; done
kibibytes=$(du -skxc "$@" 2> /dev/null | tail -n 1)
files=$(find "$@" -xdev -print0 2> /dev/null | tr -dc '\\0' | wc -c)
echo "${kibibytes%%[!0-9]*} $files"
"""


@dataclass(frozen=True, slots=True)
class HostFolder:
    """A container's folder as one of this machine: names below a trusted root."""

    root: Path
    names: tuple[str, ...] = ()

    def open(self, below: tuple[str, ...] = ()) -> int:
        """A descriptor of the folder, or of one below it.

        Raises:
            OSError: a name is missing or not a folder.
        """
        return open_below(self.root, (*self.names, *below))


def find_volume(
    container: DockerContainer, path: PurePosixPath
) -> tuple[HostFolder, tuple[str, ...]] | None:
    """The host folder of a path's volume or workspace, and the names from there; None: none."""
    if os.geteuid() != 0 or ".." in path.parts:
        return None
    for mounted_at, source in container.volumes().items():
        if path.is_relative_to(mounted_at) and Path(source).is_dir():
            return HostFolder(Path(source)), path.relative_to(mounted_at).parts
    workspace, root = container.plan.workspace, container.root()
    if root is None or not path.is_relative_to(workspace) or not os.path.ismount(root):
        return None
    folder = HostFolder(Path(root), workspace.parts[1:])
    try:
        os.close(folder.open())
    except OSError:
        return None
    return folder, path.relative_to(workspace).parts


@contextmanager
def read_volume(
    volume: HostFolder, parts: tuple[str, ...], doing: str
) -> Iterator[Iterator[bytes]]:
    """The tree in a volume as a plain tar stream, without following links.

    Raises:
        SandboxError: the folder does not exist, or changes while it is read.
    """

    def members(folder: int) -> Iterator[bytes]:
        """The tar, with errors of the file system as ours."""
        try:
            yield from tar_stream(folder)
        except OSError as fault:
            raise SandboxError(f"{doing}: {fault}") from fault

    try:
        folder = volume.open(parts)
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault.strerror}") from fault
    with closing_descriptor(folder):
        yield members(folder)


class _UnusualEntryError(Exception):
    """The engine has to handle the entry."""


def write_volume(
    volume: HostFolder, parts: tuple[str, ...], tar: bytes, doing: str, user_id: int = USER_ID
) -> bool:
    """Unpack a plain tar below a folder in a volume; all members will belong to the user.

    Returns:
        Whether it was unpacked; if not, the engine has to unpack it again.

    Raises:
        SandboxError: it is not a plain tar, or the disk is full.
    """
    try:
        with closing_descriptor(volume.open()) as root:
            if os.fstat(root).st_uid != user_id:  # the engine maps user ids
                return False
            os.close(_folder(root, parts, user_id))
            with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
                for member in archive:
                    _write_member(root, (*parts, *_names(member)), member, archive, user_id)
                for member in filter(tarfile.TarInfo.isdir, archive):
                    _finish(root, (*parts, *_names(member)), member, user_id)
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
    user_id: int,
) -> None:
    if member.isdir():
        os.close(_folder(root, names, user_id))
        return
    if not names:
        raise _UnusualEntryError
    name = names[-1]
    with closing_descriptor(_folder(root, names[:-1], user_id)) as above:
        with suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=above)
            except (IsADirectoryError, PermissionError) as fault:
                raise _UnusualEntryError from fault
        if member.issym():
            os.symlink(member.linkname, name, dir_fd=above)
            os.chown(name, user_id, user_id, dir_fd=above, follow_symlinks=False)
            os.utime(name, (member.mtime, member.mtime), dir_fd=above, follow_symlinks=False)
        else:
            source = archive.extractfile(member)
            _write(name, above, source.read() if source is not None else b"", member, user_id)


def _finish(root: int, names: tuple[str, ...], member: tarfile.TarInfo, user_id: int) -> None:
    """Set a folder's mode and time, which new entries have changed."""
    with closing_descriptor(_folder(root, names, user_id)) as folder:
        os.fchmod(folder, stat.S_IMODE(member.mode))
        os.utime(folder, (member.mtime, member.mtime))


def _folder(root: int, names: tuple[str, ...], user_id: int) -> int:
    """Open a folder below another one; missing folders are created."""
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
                os.fchown(deeper, user_id, user_id)
                os.fchmod(deeper, _NEW_FOLDER)
        finally:
            os.close(current)
        current = deeper
    return current


def _write(name: str, above: int, content: bytes, member: tarfile.TarInfo, user_id: int) -> None:
    try:
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=above)
    except FileExistsError as fault:  # another process created it
        raise _UnusualEntryError from fault
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchown(descriptor, user_id, user_id)
        os.fchmod(descriptor, stat.S_IMODE(member.mode))
        os.utime(descriptor, (member.mtime, member.mtime))


def gauge_of(container: DockerContainer, services: Iterable[str] = ()) -> DiskGauge:
    """The best available gauge for a running container and the folders of its services."""
    if os.geteuid() == 0:
        folders = [Path(folder) for folder in {*container.folders(), *services}]
        if folders and all(folder.is_dir() for folder in folders):
            return FolderGauge(folders=folders, processes=partial(_processes, container))
    return ContainerGauge(container=container)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGauge:
    """Measures by a program in the container, as the commands' user, who could end or deceive it.

    It yields nothing if the image has no `du` and `find`, or if no process can be added.
    """

    container: DockerContainer

    def free(self) -> DiskUsage | None:
        """Unknown."""
        return None

    def measure(self) -> Iterator[DiskUsage | None]:
        """See DiskGauge.measure; one sum at the end."""
        deadline = time.monotonic() + _ANSWERS_WITHIN
        output = b""
        try:
            folders = (str(self.container.plan.workspace), *_WRITABLE)
            started = self.container.begin(["/bin/sh", "-c", _MEASURE_SCRIPT, "sh", *folders], {})
        except SandboxError:  # the command's own loop finds the reason
            return
        with started.stream as stream:
            while not stream.ended and time.monotonic() < deadline:
                output += b"".join(frame.data for frame in stream.receive(_POLL_SECONDS))
                yield None
        with suppress(ValueError):
            kibibytes, files = map(int, output.split())
            yield DiskUsage(bytes=kibibytes << 10, files=files)


def _processes(container: DockerContainer) -> Iterator[int]:
    """The processes of a container, as numbered on this machine."""
    with suppress(SandboxError, OSError):
        namespace = _namespace(container.pid())
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names only
            with suppress(OSError):  # it has ended
                if _namespace(int(name)) == namespace:
                    yield int(name)


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())
