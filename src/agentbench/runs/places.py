"""Where agentbench keeps what can be made again: mirrors, snapshots, preparations."""

import os
from collections.abc import Mapping
from pathlib import Path


def default_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """`$AGENTBENCH_CACHE`, else `agentbench` below the user's cache folder (XDG)."""
    env = os.environ if environ is None else environ
    own = env.get("AGENTBENCH_CACHE")
    if own:
        return Path(own)
    cache = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "/tmp")) / ".cache")
    return Path(cache) / "agentbench"
