"""Where agentbench keeps what can be made again: mirrors, snapshots, preparations."""

import os
from collections.abc import Mapping
from pathlib import Path

from agentbench.errors import UsageError


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
