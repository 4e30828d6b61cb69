"""Whose control group a folder is, told from its name."""

import os
from pathlib import Path

from agentbench.sandbox.cgroup import PREFIX
from agentbench.sandbox.docker_labels import Owner


def group_name(sandbox: str) -> str:
    """A name that says which process made the group, also to one that counts processes anew."""
    owner = Owner.current()
    namespace = owner.boot.partition("/")[2]
    return f"{owner.pid}-{owner.started}-{namespace}-{sandbox}"


def is_used(group: Path) -> bool:
    """Whether the process that made a group lives, or could do so where we cannot look."""
    match group.name.removeprefix(PREFIX).split("-", 3):
        case [pid, started, namespace, _] if pid.isdigit():
            here = Owner.current()
            boot = f"{here.boot.partition('/')[0]}/{namespace}"
            return Owner(machine=here.machine, boot=boot, pid=int(pid), started=started).alive
        case [pid, *_] if pid.isdigit():  # of an older agentbench
            return Path("/proc", pid).exists() and int(pid) != os.getpid()
        case _:
            return False
