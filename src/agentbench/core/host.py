"""This machine: its system, cores and free memory, and the user's cache folder."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from agentbench.errors import UsageError


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


def default_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """`$AGENTBENCH_CACHE`, else `agentbench` below the user's cache folder (XDG)."""
    env = os.environ if environ is None else environ
    own = env.get("AGENTBENCH_CACHE")
    if own:
        return Path(own)
    cache = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return Path(cache) / "agentbench"


def usable_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The cache folder, created if it does not exist.

    Raises:
        UsageError: it cannot be created or written.
    """
    folder = default_cache_dir(environ)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(folder, os.W_OK) else "no permission"
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise UsageError(
            f"{folder}: cannot be written ({reason}); set AGENTBENCH_CACHE to a folder that can"
        )
    return folder
