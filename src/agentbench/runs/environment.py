"""The surroundings of a run.

The user's cache folder, the cores and memory of this machine, the names of executors. Light: the
command line imports it at its start.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from agentbench.core.host import available_cpus
from agentbench.errors import UsageError
from agentbench.tasks.host_git import git


def default_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """`$AGENTBENCH_CACHE`, else `agentbench` below the user's cache folder (XDG)."""
    env = os.environ if environ is None else environ
    own = env.get("AGENTBENCH_CACHE")
    if own:
        return Path(own)
    cache = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return Path(cache) / "agentbench"


def usable_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The cache folder, made if need be.

    Raises:
        UsageError: it cannot be made or written.
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


_ATTEMPTS_PER_CORE = 2
"""Measured on two cores: four attempts at a time halve the time of one, eight gain nothing."""


def cores_for_attempts() -> int:
    """The cores that attempts may declare in all, since each of them waits much of its time."""
    return _ATTEMPTS_PER_CORE * available_cpus()


def catalogue_state(folder: Path) -> tuple[str | None, bool | None]:
    """The git commit that the tasks are at and whether they were changed since; None: no git."""
    where = folder if folder.is_dir() else folder.parent
    commit = git("rev-parse", "--verify", "HEAD", cwd=where)
    if not commit.ok:
        return None, None
    status = git("status", "--porcelain", "--", ".", cwd=where)
    return commit.stdout.decode().strip(), bool(status.stdout.strip()) if status.ok else None
