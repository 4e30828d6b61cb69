"""Finds and removes folders, unfinished files and control groups of processes that died."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from agentbench.core.files import OWNER, UNFINISHED, has_owner_file, is_owned
from agentbench.sandbox.bubblewrap.cgroups import find_hierarchy, remove_group
from agentbench.sandbox.ownership import CGROUP_PREFIX, is_group_owner_alive
from agentbench.sandbox.registry import BACK_ENDS
from agentbench.sandbox.trees import remove_tree, size_of

_TEMPORARY_PREFIX = "agentbench-"
_WRITTEN_WITHIN = 60  # seconds; a file is written and renamed in much less time


class OrphanKind(StrEnum):
    """The kinds of things that a dead process leaves on the machine or in the engine."""

    CONTAINER = "container"
    NETWORK = "network"
    VOLUME = "volume"
    IMAGE = "image"
    FOLDER = "folder"
    FILE = "file"
    CGROUP = "cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """Something that agentbench created. It is an orphan only if its owner is dead."""

    kind: OrphanKind
    id: str  # a container's id, a folder's path and so on
    size_bytes: int = 0
    owner_alive: bool = False


def find_orphans(cache_dir: Path) -> tuple[Orphan, ...]:
    """All folders, files and control groups of runs, also those in use.

    Args:
        cache_dir: The folder that providers are connected with.
    """
    found: list[Orphan] = []
    for orphan in _all_candidates(cache_dir):
        path, size = Path(orphan.id), 0
        if orphan.kind == OrphanKind.FOLDER:
            size = size_of(path)
        elif orphan.kind == OrphanKind.FILE:
            size = path.lstat().st_size
        found.append(replace(orphan, size_bytes=size))
    return tuple(found)


def find_dead_orphans(cache_dir: Path) -> tuple[Orphan, ...]:
    """The orphans with a dead owner, without sizes: quick enough for the start of every run."""
    return tuple(orphan for orphan in _all_candidates(cache_dir) if not orphan.owner_alive)


def remove_orphans(orphans: tuple[Orphan, ...]) -> tuple[Orphan, ...]:
    """Remove the orphans that have no living owner; returns the removed ones."""
    return tuple(orphan for orphan in orphans if not orphan.owner_alive and _removed(orphan))


def _removed(orphan: Orphan) -> bool:
    path = Path(orphan.id)
    try:
        match orphan.kind:
            case OrphanKind.FOLDER:
                with suppress(NotADirectoryError, FileNotFoundError):
                    for entry in list(os.scandir(path)):
                        if entry.is_dir(follow_symlinks=False):
                            remove_tree(Path(entry.path))
                        elif entry.name != OWNER:
                            Path(entry.path).unlink(missing_ok=True)
                remove_tree(path)
            case OrphanKind.CGROUP:
                remove_group(path)
            case OrphanKind.FILE:
                path.unlink(missing_ok=True)
            case _:
                return False
    except OSError:
        return False  # it belongs to another user, or its disk is gone; `clean` lists it again
    return True


def _all_candidates(cache_dir: Path) -> Iterator[Orphan]:
    for folder in sorted(_folders(cache_dir)):
        yield Orphan(kind=OrphanKind.FOLDER, id=str(folder), owner_alive=is_owned(folder))
    for file in sorted(_unfinished_files(cache_dir)):
        yield Orphan(kind=OrphanKind.FILE, id=str(file))
    hierarchy = find_hierarchy()
    parents = set[Path]() if hierarchy is None else set(hierarchy.parents.values())
    for group in sorted(path for parent in parents for path in parent.glob(f"{CGROUP_PREFIX}*")):
        alive = is_group_owner_alive(group)
        yield Orphan(kind=OrphanKind.CGROUP, id=str(group), owner_alive=alive)


def _folders(cache_dir: Path) -> Iterator[Path]:
    """Scratch folders, by name in our own folders; elsewhere only if they have an owner file."""
    for folder in _back_end_folders(cache_dir):
        yield from _inside(folder / "live", "")
    yield from (path for path in _inside(cache_dir / "mirrors", "clone-") if path.is_dir())
    temporary = _inside(Path(tempfile.gettempdir()), _TEMPORARY_PREFIX)
    prepared = (path for kind in _inside(cache_dir / "prepared", "") for path in _inside(kind, ""))
    yield from (path for path in (*temporary, *prepared) if has_owner_file(path))


def _unfinished_files(cache_dir: Path) -> Iterator[Path]:
    kinds = ("snapshots/keys", "images/keys")
    folders = [folder / kind for folder in _back_end_folders(cache_dir) for kind in kinds]
    folders += _inside(cache_dir / "prepared", "")
    folders += [path for kind in _inside(cache_dir / "prepared", "") for path in _inside(kind, "")]
    for folder in folders:
        for path in _inside(folder, "."):
            with suppress(OSError):
                is_old = time.time() - path.lstat().st_mtime > _WRITTEN_WITHIN
                if path.name.endswith(UNFINISHED) and is_old:
                    yield path


def _back_end_folders(cache_dir: Path) -> list[Path]:
    return [cache_dir / back_end.name for back_end in BACK_ENDS if back_end.keeps_files]


def _inside(folder: Path, prefix: str) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
