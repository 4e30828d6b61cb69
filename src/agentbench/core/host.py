"""Facts about this machine: system, cores and free memory."""

import os
import platform
from pathlib import Path


def host_facts() -> dict[str, str]:
    """The facts that a run records about this machine."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": str(available_cpus()),
        "memory_mib": str(available_memory_mib() or "unknown"),
    }


def available_cpus() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory_mib() -> int | None:
    """The memory available to new processes; `None` if the kernel does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return None
