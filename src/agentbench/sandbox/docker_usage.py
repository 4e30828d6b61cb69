"""What a container holds on disk: seen on this machine where that can be, else asked from inside.

Seen from here, nobody inside can disturb the measure. That takes root's rights and an engine whose
volumes are folders of this machine; their names are random, so one that is there is the right one.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_container import Container
from agentbench.sandbox.docker_options import HOME, RESULTS, SCRIPT_FOLDERS
from agentbench.sandbox.usage import FolderGauge, Gauge, Usage

_ANSWERS_WITHIN = 10.0  # seconds
_LOOK_EVERY = 0.05  # seconds
_WRITABLE = (str(RESULTS), str(HOME), "/opt/venv", "/var/tmp", *SCRIPT_FOLDERS)
_ASK = """
PATH=/usr/bin:/bin
for place; do shift; if [ -d "$place" ]; then set -- "$@" "$place"; fi; done
kibibytes=$(du -skxc "$@" 2> /dev/null | tail -n 1)
files=$(find "$@" -xdev -print0 2> /dev/null | tr -dc '\\0' | wc -c)
echo "${kibibytes%%[!0-9]*} $files"
"""


def gauge_of(container: Container) -> Gauge:
    """The best gauge that there is for a container that runs.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    if os.geteuid() == 0:
        folders = [Path(folder) for folder in container.folders()]
        if folders and all(folder.is_dir() for folder in folders):
            return FolderGauge(folders=folders, processes=_Inhabitants(container=container))
    return InsideGauge(container=container)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideGauge:
    """Asks by a program in the container, as the commands' user, who could end or deceive it.

    It says nothing where the image has no `du` and `find`, or no process may be added.
    """

    container: Container

    def free(self) -> Usage | None:
        """Nobody knows."""
        return None

    def measure(self) -> Iterator[Usage | None]:
        """None until the answer is there, if one comes."""
        deadline = time.monotonic() + _ANSWERS_WITHIN
        said = b""
        try:
            places = (str(self.container.plan.workspace), *_WRITABLE)
            started = self.container.begin(["/bin/sh", "-c", _ASK, "sh", *places], {})
        except SandboxError:  # the command's own loop finds out what this means
            return
        with started.wire as wire:
            while not wire.ended and time.monotonic() < deadline:
                said += b"".join(frame.data for frame in wire.receive(_LOOK_EVERY))
                yield None
        with contextlib.suppress(ValueError):
            kibibytes, files = map(int, said.split())
            yield Usage(bytes=kibibytes << 10, files=files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inhabitants:
    """The processes of a container, as this machine numbers them."""

    container: Container

    def __call__(self) -> Iterator[int]:
        with contextlib.suppress(SandboxError, OSError):
            wanted = _namespace(self.container.pid())
            for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names only
                with contextlib.suppress(OSError):  # it has ended
                    if _namespace(int(name)) == wanted:
                        yield int(name)


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())
