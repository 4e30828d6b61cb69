"""A control group for one sandbox, of version 1 or 2.

Memory, processes and processor time together.

Version 1 keeps one hierarchy a controller, version 2 one for all. Ours lies below the group that
this process is in (v1) or below the nearest one that hands its controllers down (v2), so that
limits set on us hold for sandboxes too.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from agentbench.sandbox.interface import Limits
from agentbench.sandbox.ownership import CGROUP_PREFIX

_CONTROLLERS = ("memory", "pids", "cpu")
_DYING_SECONDS = 20.0
_PERIOD = 100_000  # microseconds over which processor time is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupHierarchy:
    """Where groups of ours may be made, and what they can limit there."""

    version: int
    parents: dict[str, Path]  # by controller; on version 2 all the same folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """One group: a folder a controller on version 1, one folder on version 2."""

    version: int
    folders: dict[str, Path]

    @property
    def controllers(self) -> frozenset[str]:
        """What it limits: some of memory, pids, cpu."""
        return frozenset(self.folders)

    def admit(self, pid: int) -> None:
        """Move a process in; its children will be born here.

        Raises:
            OSError: the process is gone, or the kernel refuses.
        """
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def processes(self) -> list[int]:
        """The processes that are in it now."""
        folder = next(iter(self.folders.values()))
        return [int(pid) for pid in _lines(folder / "cgroup.procs")]

    def oom_kills(self) -> int:
        """How often the kernel has killed in here for lack of memory."""
        folder = self.folders.get("memory")
        if folder is None:
            return 0
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        for line in (folder / name).read_text().splitlines():
            key, _, count = line.partition(" ")
            if key == "oom_kill":
                return int(count)
        return 0

    def peak_memory(self) -> int | None:
        """The most bytes that were in use at once since the group was made, where it is counted."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            return int((self.folders["memory"] / name).read_text())
        except (KeyError, OSError, ValueError):
            return None

    def remove(self) -> None:
        """Remove the group; whatever still lives in it is killed."""
        self._lift_quota()
        for folder in set(self.folders.values()):
            remove_group(folder)

    def _lift_quota(self) -> None:
        """Let dying processes die at full speed: a spent quota makes them wait for their end."""
        folder = self.folders.get("cpu")
        if folder is None:
            return
        file, value = ("cpu.cfs_quota_us", "-1") if self.version == 1 else ("cpu.max", "max")
        with contextlib.suppress(OSError):
            (folder / file).write_text(value)


def find_hierarchy(
    proc: Path = Path("/proc/self"), mounts: Path = Path("/sys/fs/cgroup")
) -> CgroupHierarchy | None:
    """Where this process may make groups; None where it may not."""
    own = _own_groups(proc / "cgroup")
    parents = {
        name: parent
        for name in _CONTROLLERS
        if (parent := _v1_parent(mounts / name, own.get(name))) is not None
    }
    if parents:
        return CgroupHierarchy(version=1, parents=parents)
    for folder in _up(mounts, own.get("", "/")):
        handed_down = _words(folder / "cgroup.subtree_control")
        if "memory" in handed_down and os.access(folder, os.W_OK):
            usable = {name: folder for name in _CONTROLLERS if name in handed_down}
            return CgroupHierarchy(version=2, parents=usable)
    return None


def make_group(hierarchy: CgroupHierarchy, name: str, limits: Limits) -> ControlGroup:
    """Make a group with these limits.

    Raises:
        OSError: it cannot be made here.
    """
    group = ControlGroup(
        version=hierarchy.version,
        folders={key: parent / (CGROUP_PREFIX + name) for key, parent in hierarchy.parents.items()},
    )
    try:
        for folder in set(group.folders.values()):
            folder.mkdir()
        for controller, file, value in _settings(group.version, limits):
            if controller in group.folders:
                _set(group.folders[controller] / file, value)
    except OSError:
        group.remove()
        raise
    return group


def remove_group(folder: Path) -> None:
    """Remove one folder of a group.

    Processes that are just dying hold it for a moment, on a loaded machine for seconds. One that
    cannot die (it waits for a device) leaves the group to `agentbench clean`.
    """
    deadline = time.monotonic() + _DYING_SECONDS
    pause = 0.001
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            for pid in _lines(folder / "cgroup.procs"):
                with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        else:
            return


def _settings(version: int, limits: Limits) -> list[tuple[str, str, str]]:
    memory = str(limits.memory_mib << 20)
    quota = int(limits.cpus * _PERIOD)
    if version == 1:
        return [
            ("memory", "memory.limit_in_bytes", memory),
            ("memory", "memory.memsw.limit_in_bytes", memory),
            ("pids", "pids.max", str(limits.pids)),
            ("cpu", "cpu.cfs_period_us", str(_PERIOD)),
            ("cpu", "cpu.cfs_quota_us", str(quota)),
        ]
    return [
        ("memory", "memory.max", memory),
        ("memory", "memory.swap.max", "0"),
        ("pids", "pids.max", str(limits.pids)),
        ("cpu", "cpu.max", f"{quota} {_PERIOD}"),
    ]


def _set(file: Path, value: str) -> None:
    optional = "swap" in file.name or "memsw" in file.name  # absent without swap accounting
    with (
        contextlib.suppress(FileNotFoundError, PermissionError)
        if optional
        else (contextlib.nullcontext()),
        file.open("r+") as setting,
    ):  # "w" would ask to create it
        setting.write(value)


def _own_groups(file: Path) -> dict[str, str]:
    """The group of this process by controller; version 2's bears the empty name."""
    own: dict[str, str] = {}
    for line in _lines(file):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        own.update(dict.fromkeys(controllers.split(","), path))
    return own


def _v1_parent(mount: Path, own: str | None) -> Path | None:
    if own is None:
        return None
    for folder in (mount / own.lstrip("/"), mount):  # in a container its own group is the root
        if (folder / "cgroup.procs").exists():
            return folder if os.access(folder, os.W_OK) else None
    return None


def _up(mounts: Path, own: str) -> list[Path]:
    folder = mounts / own.lstrip("/")
    return [path for path in (folder, *folder.parents) if path.is_relative_to(mounts)]


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
