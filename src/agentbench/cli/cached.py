"""Cached preparations: snapshots of set-up environments, and baselines."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError
from agentbench.in_use import removing
from agentbench.owned_folder import has_owner_file
from agentbench.sandbox.choose import choose_provider
from agentbench.stages.preparation import PreparationCache


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedState:
    """One preparation that later attempts could start from."""

    provider: str
    key: str
    size_bytes: int  # of our part; what the engine holds comes on top


def cached_states(cache_dir: Path) -> list[CachedState]:
    """Every preparation that is kept."""
    root = cache_dir / "prepared"
    if not root.is_dir():
        return []
    return [
        CachedState(provider=provider.name, key=folder.name, size_bytes=_size(folder))
        for provider in sorted(root.iterdir())
        for folder in sorted(provider.iterdir())
        if folder.is_dir() and not has_owner_file(folder)
    ]


def forget(states: Sequence[CachedState], cache_dir: Path) -> None:
    """Give preparations up, except those that somebody makes or uses right now."""
    for name in sorted({state.provider for state in states}):
        try:
            provider = choose_provider(name, cache_dir=cache_dir).provider
        except (UnavailableError, SandboxError):
            continue  # its snapshots are out of reach; the next clean finds them
        cache = PreparationCache(cache_dir / "prepared", provider)
        for state in (state for state in states if state.provider == name):
            with removing(cache.folder / state.key) as allowed:
                if allowed:
                    cache.forget(state.key)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
