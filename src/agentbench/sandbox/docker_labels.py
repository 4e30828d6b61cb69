"""The labels on all that we make in an engine, and who made it."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OURS = "agentbench"
KIND = "agentbench.kind"
RECIPE = "agentbench.recipe"
PYTHON = "agentbench.python"
WORKDIR = "agentbench.workdir"  # of an image whose own folder is the workspace
_OWNER = "agentbench.owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told from all others that ever bore its number."""

    machine: str
    boot: str  # of the machine, and the pid namespace in it
    pid: int
    started: str  # clock ticks after boot

    @classmethod
    def current(cls) -> "Owner":
        """This process."""
        return cls(
            machine=_machine(), boot=_boot(), pid=os.getpid(), started=_started(os.getpid()) or ""
        )

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "Owner | None":
        """Whom the labels name, if they name anybody."""
        match labels.get(_OWNER, "").split("|"):
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


def labels_of(kind: str, owner: Owner | None = None) -> dict[str, str]:
    """The labels for a thing of some kind, which has an owner if it dies with one."""
    labels = {OURS: "1", KIND: kind}
    if owner is not None:
        labels[_OWNER] = f"{owner.machine}|{owner.boot}|{owner.pid}|{owner.started}"
    return labels


def forget_owner() -> dict[str, str]:
    """What overrides the owner's label in an image made from an owned container."""
    return {_OWNER: ""}


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
