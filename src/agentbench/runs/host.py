"""Facts about the machine and the catalogue, for run.json; and what attempts may use."""

import os
import platform
from pathlib import Path

from agentbench.tasks.host_git import git

_ATTEMPTS_PER_CORE = 2
"""Measured on two cores: four attempts at a time halve the time of one, eight gain nothing."""


def host_facts() -> dict[str, str]:
    """What kind of machine this is."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": str(available_cpus()),
        "memory_mib": str(available_memory_mib() or "unknown"),
    }


def cores_for_attempts() -> int:
    """The cores that attempts may declare in all, since each of them waits much of its time."""
    return _ATTEMPTS_PER_CORE * available_cpus()


def available_cpus() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory_mib() -> int | None:
    """The memory that is free for new processes; `None` where the kernel does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return None


def catalogue_state(folder: Path) -> tuple[str | None, bool | None]:
    """The git commit that the tasks are at and whether they were changed since; None: no git."""
    where = folder if folder.is_dir() else folder.parent
    commit = git("rev-parse", "--verify", "HEAD", cwd=where)
    if not commit.ok:
        return None, None
    status = git("status", "--porcelain", "--", ".", cwd=where)
    return commit.stdout.decode().strip(), bool(status.stdout.strip()) if status.ok else None
