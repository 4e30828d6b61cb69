"""Leftovers of every back end together."""

from collections.abc import Sequence
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox import leftovers as local
from agentbench.sandbox import reaper
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.leftover import Leftover

_LOCAL_KINDS = frozenset({"folder", "cgroup"})


def every_leftover(cache_dir: Path) -> tuple[Leftover, ...]:
    """What of ours is on the machine and in its engine; also what living runs use."""
    engine = _engine()
    in_engine = reaper.find_leftovers(engine) if engine is not None else ()
    return (*in_engine, *local.find_leftovers(cache_dir))


def remove_dead(leftovers: Sequence[Leftover]) -> tuple[Leftover, ...]:
    """Remove those whose owner is dead; returns them."""
    dead = tuple(each for each in leftovers if not each.owner_alive)
    here = tuple(each for each in dead if each.kind in _LOCAL_KINDS)
    in_engine = [each for each in dead if each.kind not in _LOCAL_KINDS]
    engine = _engine() if in_engine else None
    if engine is not None:
        reaper.remove(engine, in_engine)
    local.remove_leftovers(here)
    return dead


def _engine() -> Engine | None:
    try:
        return Engine.connect()
    except (UnavailableError, SandboxError):
        return None
