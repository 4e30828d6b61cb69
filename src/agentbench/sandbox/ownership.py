"""Which process made a container, a volume or a control group.

Labels and names that tell whether it is still alive.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CGROUP_PREFIX = "agentbench-"


OURS = "agentbench"
KIND = "agentbench.kind"
RECIPE = "agentbench.recipe"
PYTHON = "agentbench.python"
WORKDIR = "agentbench.workdir"  # of an image whose own folder is the workspace
_OWNER_LABEL = "agentbench.owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOwner:
    """A process, told from all others that ever bore its number."""

    machine: str
    boot: str  # of the machine, and the pid namespace in it
    pid: int
    started: str  # clock ticks after boot

    @classmethod
    def current(cls) -> "ProcessOwner":
        """This process."""
        return cls(
            machine=_machine(), boot=_boot(), pid=os.getpid(), started=_started(os.getpid()) or ""
        )

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "ProcessOwner | None":
        """Whom the labels name, if they name anybody."""
        match labels.get(_OWNER_LABEL, "").split("|"):
            case [machine, boot, pid, started] if pid.isdigit():
                return cls(machine=machine, boot=boot, pid=int(pid), started=started)
            case _:
                return None

    @property
    def alive(self) -> bool:
        """Whether it lives, as far as can be seen from here: elsewhere counts as alive."""
        if self.machine != _machine():
            return True
        boot, _, namespace = self.boot.partition("/")
        this_boot, _, this_namespace = _boot().partition("/")
        if boot != this_boot:
            return False
        return namespace != this_namespace or _started(self.pid) == self.started


def labels_of(kind: str, owner: ProcessOwner | None = None) -> dict[str, str]:
    """The labels for a thing of some kind, which has an owner if it dies with one."""
    labels = {OURS: "1", KIND: kind}
    if owner is not None:
        labels[_OWNER_LABEL] = f"{owner.machine}|{owner.boot}|{owner.pid}|{owner.started}"
    return labels


def without_owner() -> dict[str, str]:
    """What overrides the owner's label in an image made from an owned container."""
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
        return ""
    return ""


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def group_name(sandbox: str) -> str:
    """A name that says which process made the group, also to one that counts processes anew."""
    owner = ProcessOwner.current()
    namespace = owner.boot.partition("/")[2]
    return f"{owner.pid}-{owner.started}-{namespace}-{sandbox}"


def is_group_owner_alive(group: Path) -> bool:
    """Whether the process that made a group lives, or could do so where we cannot look."""
    match group.name.removeprefix(CGROUP_PREFIX).split("-", 3):
        case [pid, started, namespace, _] if pid.isdigit():
            here = ProcessOwner.current()
            boot = f"{here.boot.partition('/')[0]}/{namespace}"
            return ProcessOwner(
                machine=here.machine, boot=boot, pid=int(pid), started=started
            ).alive
        case [pid, *_] if pid.isdigit():  # of an older agentbench
            return Path("/proc", pid).exists() and int(pid) != os.getpid()
        case _:
            return False
