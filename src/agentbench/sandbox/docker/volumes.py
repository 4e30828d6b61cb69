"""Reads, writes and measures a container's volumes and workspace if they are host folders.

This needs root and an engine on this machine. The names of volumes are random, so an existing
folder is the right one. A workspace in the container's layers is read below the container's root,
which an engine mounts while the container runs. The engine itself would start a process for each
archive, which takes a tenth of a second, and a measurement inside the container could be disturbed.

The content is untrusted and may change meanwhile. The engine, which knows the container's root,
handles unusual entries and volumes with a foreign user id.
"""

import os
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
from agentbench.sandbox.tree_writing import unpack_below
from agentbench.sandbox.trees import FileOwner, closing_descriptor, open_below

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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPath:
    """A path of a container on this machine. Only the root is trusted."""

    root: Path
    volume: tuple[str, ...]  # the names from the root to the volume or the workspace
    parts: tuple[str, ...]  # the names from there to the path


def find_volume(container: DockerContainer, path: PurePosixPath) -> HostPath | None:
    """A path in a volume or in the workspace as it is on this machine, if it can be read here."""
    if os.geteuid() != 0 or ".." in path.parts:
        return None
    for mounted_at, source in container.writable.volumes.items():
        if path.is_relative_to(mounted_at) and Path(source).is_dir():
            return HostPath(root=Path(source), volume=(), parts=path.relative_to(mounted_at).parts)
    workspace, root = container.plan.workspace, container.writable.root
    if root is None or not path.is_relative_to(workspace) or not os.path.ismount(root):
        return None
    names = workspace.parts[1:]
    try:
        os.close(open_below(Path(root), names))
    except OSError:
        return None
    return HostPath(root=Path(root), volume=names, parts=path.relative_to(workspace).parts)


@contextmanager
def read_volume(path: HostPath, doing: str) -> Iterator[Iterator[bytes]]:
    """The tree in a volume as a plain tar stream, without following links.

    Raises:
        SandboxError: the folder does not exist, or changes while it is read.
    """

    def members(folder: int) -> Iterator[bytes]:
        try:
            yield from tar_stream(folder)
        except OSError as fault:
            raise SandboxError(f"{doing}: {fault}") from fault

    try:
        folder = open_below(path.root, (*path.volume, *path.parts))
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault.strerror}") from fault
    with closing_descriptor(folder):
        yield members(folder)


def write_volume(path: HostPath, tar: bytes, doing: str, user_id: int = USER_ID) -> bool:
    """Unpack a plain tar below a folder in a volume; all members will belong to the user.

    Returns:
        Whether it was unpacked; if not, the engine has to unpack it again.

    Raises:
        SandboxError: it is not a plain tar, or the disk is full.
    """
    try:
        volume = open_below(path.root, path.volume)
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
    with closing_descriptor(volume):
        if os.fstat(volume).st_uid != user_id:  # the engine maps user ids
            return False
        owner = FileOwner(uid=user_id, gid=user_id)
        return unpack_below(volume, path.parts, tar, owner, doing)


def gauge_of(container: DockerContainer, services: Iterable[str] = ()) -> DiskGauge:
    """The best available gauge for a running container and the folders of its services."""
    if os.geteuid() == 0:
        folders = [Path(folder) for folder in {*container.writable.all, *services}]
        if folders and all(folder.is_dir() for folder in folders):
            return FolderGauge(folders=folders, processes=partial(_processes, container))
    return ContainerGauge(container=container)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGauge:
    """Measures by a program in the container, whose user's commands could end or deceive it.

    It yields nothing if the image has no `du` and `find`, or if no process can be added.
    """

    container: DockerContainer

    def free(self) -> DiskUsage | None:
        """Return None, since it is unknown."""
        return None

    def measure(self) -> Iterator[DiskUsage | None]:
        """See DiskGauge.measure; one sum at the end."""
        deadline = time.monotonic() + _ANSWERS_WITHIN
        output = b""
        try:
            folders = (str(self.container.plan.workspace), *_WRITABLE)
            started = self.container.begin(["/bin/sh", "-c", _MEASURE_SCRIPT, "sh", *folders], {})
        except SandboxError:  # the loop of the command reports the reason
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
            with suppress(OSError):  # the container has ended
                if _namespace(int(name)) == namespace:
                    yield int(name)


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())
