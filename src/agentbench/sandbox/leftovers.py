"""What runs of bubblewrap and process that died left on this machine, and how it is removed."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentbench.sandbox.cgroup import PREFIX as GROUP_PREFIX
from agentbench.sandbox.cgroup import find_hierarchy, remove_group
from agentbench.sandbox.leftover import Leftover
from agentbench.sandbox.process import PREFIX as ROOMS_PREFIX
from agentbench.sandbox.rooms import is_lived_in
from agentbench.sandbox.trees import remove_tree, size_of

_FOLDER, _GROUP = "folder", "cgroup"


def find_leftovers(cache_dir: Path) -> tuple[Leftover, ...]:
    """All folders and control groups of sandboxes; those whose owner lives are in use.

    Args:
        cache_dir: The one that providers are connected with.
    """
    return (*_folders(cache_dir), *_groups())


def remove_leftovers(leftovers: tuple[Leftover, ...]) -> tuple[Leftover, ...]:
    """Remove what no living process owns; returns what was removed."""
    dead = tuple(leftover for leftover in leftovers if not leftover.owner_alive)
    for leftover in dead:
        if leftover.kind == _FOLDER:
            remove_tree(Path(leftover.id))
        elif leftover.kind == _GROUP:
            remove_group(Path(leftover.id))
    return dead


def _folders(cache_dir: Path) -> Iterator[Leftover]:
    live = cache_dir / "bubblewrap" / "live"
    rooms = [*_inside(live), *Path(tempfile.gettempdir()).glob(f"{ROOMS_PREFIX}*")]
    for root in sorted(rooms):
        yield Leftover(
            kind=_FOLDER, id=str(root), size_bytes=size_of(root), owner_alive=is_lived_in(root)
        )


def _groups() -> Iterator[Leftover]:
    hierarchy = find_hierarchy()
    parents = set[Path]() if hierarchy is None else set(hierarchy.parents.values())
    for folder in sorted(path for parent in parents for path in parent.glob(f"{GROUP_PREFIX}*")):
        owner = folder.name.removeprefix(GROUP_PREFIX).partition("-")[0]
        alive = owner.isdigit() and Path("/proc", owner).exists()
        yield Leftover(kind=_GROUP, id=str(folder), owner_alive=alive)


def _inside(folder: Path) -> list[Path]:
    try:
        return [Path(entry) for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []
