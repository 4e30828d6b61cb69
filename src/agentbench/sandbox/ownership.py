"""The owner of a container, a volume or a control group: the process that created it.

Labels and names identify the owner, so that other processes can see whether it is still alive.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

CGROUP_PREFIX = "agentbench-"
OURS = "agentbench"
KIND = "agentbench.kind"
RECIPE = "agentbench.recipe"
PYTHON = "agentbench.python"
WORKDIR = "agentbench.workdir"  # the workspace of an image that has its own
ENTRYPOINT = "agentbench.entrypoint"  # of such an image, in JSON: program, user, folder
PROJECT = "agentbench.project"  # the Compose project of a service, network or volume
_OWNER_LABEL = "agentbench.owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOwner:
    """A process, identified beyond its number, which the kernel reuses."""

    machine: str
    boot: str  # the machine's boot id, and the pid namespace
    pid: int
    started: str  # clock ticks after boot

    @classmethod
    def current(cls) -> "ProcessOwner":
        """This process."""
        pid = os.getpid()
        return cls(machine=_machine(), boot=_boot(), pid=pid, started=_started(pid) or "")

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "ProcessOwner | None":
        """The owner in the labels, if there is one."""
        match labels.get(_OWNER_LABEL, "").split("|"):
            case [machine, boot, pid, started] if pid.isdigit():
                return cls(machine=machine, boot=boot, pid=int(pid), started=started)
            case _:
                return None

    @property
    def alive(self) -> bool:
        """Whether it is alive; a process of another machine or pid namespace counts as alive."""
        if self.machine != _machine():
            return True
        boot, _, namespace = self.boot.partition("/")
        this_boot, _, this_namespace = _boot().partition("/")
        if boot != this_boot:
            return False
        return namespace != this_namespace or _started(self.pid) == self.started


def labels_of(kind: str, owner: ProcessOwner | None = None) -> dict[str, str]:
    """The labels of a thing, which has an owner if it should be removed after the owner's death."""
    labels = {OURS: "1", KIND: kind}
    if owner is not None:
        labels[_OWNER_LABEL] = f"{owner.machine}|{owner.boot}|{owner.pid}|{owner.started}"
    return labels


def without_owner() -> dict[str, str]:
    """The label that removes the owner from an image made from an owned container."""
    return {_OWNER_LABEL: ""}


def _machine() -> str:
    return _read("/etc/machine-id") or platform.node()


def _boot() -> str:
    try:
        namespace = str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        namespace = ""
    return f"{_read('/proc/sys/kernel/random/boot_id') or ''}/{namespace}"


def _started(pid: int) -> str | None:
    stat = _read(f"/proc/{pid}/stat")
    if stat is not None:
        return stat.rpartition(")")[2].split()[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return ""


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def group_name(sandbox: str) -> str:
    """A name that identifies the owner of a control group, also from other pid namespaces."""
    owner = ProcessOwner.current()
    namespace = owner.boot.partition("/")[2]
    return f"{owner.pid}-{owner.started}-{namespace}-{sandbox}"


def is_group_owner_alive(group: Path) -> bool:
    """Whether a group's owner is alive, or may be alive in another pid namespace."""
    match group.name.removeprefix(CGROUP_PREFIX).split("-", 3):
        case [pid, started, namespace, _] if pid.isdigit():
            this_process = ProcessOwner.current()
            boot = f"{this_process.boot.partition('/')[0]}/{namespace}"
            return replace(this_process, boot=boot, pid=int(pid), started=started).alive
        case [pid, *_] if pid.isdigit():  # the format of an older agentbench
            return Path("/proc", pid).exists() and int(pid) != os.getpid()
        case _:
            return False
