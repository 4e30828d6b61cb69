"""Control groups of version 1 or 2, which limit a sandbox's memory, processes and CPU time.

Version 1 has one hierarchy per controller, version 2 one for all. Ours are below this process's
own group (v1), or below the nearest one that delegates its controllers (v2), so that our own limits
also hold for sandboxes.
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
_PERIOD = 100_000  # microseconds in which CPU time is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupHierarchy:
    """The parent groups in which we can create groups, by controller."""

    version: int
    parents: dict[str, Path]  # by controller; all the same folder on version 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """One group: a folder per controller on version 1, one folder on version 2."""

    version: int
    folders: dict[str, Path]  # by controller, out of memory, pids and cpu

    def admit(self, pid: int) -> None:
        """Move a process into the group, with its future children.

        Raises:
            OSError: the process has ended, or the kernel refuses.
        """
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def processes(self) -> list[int]:
        """The present processes of the group."""
        folder = next(iter(self.folders.values()))
        return [int(pid) for pid in _lines(folder / "cgroup.procs")]

    def oom_kills(self) -> int:
        """The number of kills for lack of memory."""
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
        """The largest memory use since the group's creation, if it is counted."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            return int((self.folders["memory"] / name).read_text())
        except (KeyError, OSError, ValueError):
            return None

    def remove(self) -> None:
        """Kill the processes of the group and remove it."""
        if (cpu := self.folders.get("cpu")) is not None:
            # Remove the quota first, since a spent quota delays the end of dying processes.
            file, value = ("cpu.cfs_quota_us", "-1") if self.version == 1 else ("cpu.max", "max")
            with contextlib.suppress(OSError):
                (cpu / file).write_text(value)
        for folder in set(self.folders.values()):
            remove_group(folder)


def find_hierarchy(
    proc: Path = Path("/proc/self"), mounts: Path = Path("/sys/fs/cgroup")
) -> CgroupHierarchy | None:
    """The groups in which this process can create groups; None if there are none."""
    own = _own_groups(proc / "cgroup")
    parents = {
        name: parent
        for name in _CONTROLLERS
        if (parent := _v1_parent(mounts / name, own.get(name))) is not None
    }
    if parents:
        return CgroupHierarchy(version=1, parents=parents)
    own_folder = mounts / own.get("", "/").lstrip("/")
    for folder in (own_folder, *own_folder.parents):
        if not folder.is_relative_to(mounts):
            break
        delegated = " ".join(_lines(folder / "cgroup.subtree_control")).split()
        if "memory" in delegated and os.access(folder, os.W_OK):
            usable = {name: folder for name in _CONTROLLERS if name in delegated}
            return CgroupHierarchy(version=2, parents=usable)
    return None


def make_group(hierarchy: CgroupHierarchy, name: str, limits: Limits) -> ControlGroup:
    """Create a group with these limits.

    Raises:
        OSError: it cannot be created.
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
                is_optional = "swap" in file or "memsw" in file  # missing without swap accounting
                optional = (FileNotFoundError, PermissionError) if is_optional else ()
                path = group.folders[controller] / file
                with contextlib.suppress(*optional), path.open("r+") as setting:  # "w" creates it
                    setting.write(value)
    except OSError:
        group.remove()
        raise
    return group


def remove_group(folder: Path) -> None:
    """Remove one folder of a group.

    Dying processes block this for a moment, on a loaded machine for seconds. If a process cannot
    die, for example since it waits for a device, `agentbench clean` removes the group later.
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


def _own_groups(file: Path) -> dict[str, str]:
    """The group of this process by controller; that of version 2 has an empty name."""
    own: dict[str, str] = {}
    for line in _lines(file):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        own.update(dict.fromkeys(controllers.split(","), path))
    return own


def _v1_parent(mount: Path, own: str | None) -> Path | None:
    if own is None:
        return None
    for folder in (mount / own.lstrip("/"), mount):  # in a container, its own group is the root
        if (folder / "cgroup.procs").exists():
            return folder if os.access(folder, os.W_OK) else None
    return None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
