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
from agentbench.sandbox.back_ends import BACK_ENDS
from agentbench.sandbox.bubblewrap.cgroups import find_hierarchy, remove_group
from agentbench.sandbox.ownership import CGROUP_PREFIX, is_group_owner_alive
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
    """All folders, files and control groups of runs, also those in use."""
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
    removed: list[Orphan] = []
    for orphan in orphans:
        if orphan.owner_alive:
            continue
        path = Path(orphan.id)
        try:
            match orphan.kind:
                case OrphanKind.FOLDER:
                    # The owner file goes last, so that an interrupted removal is found again.
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
                    continue
        except OSError:
            # It belongs to another user, or its disk is gone; `clean` lists it again.
            continue
        removed.append(orphan)
    return tuple(removed)


def _all_candidates(cache_dir: Path) -> Iterator[Orphan]:
    back_ends = [cache_dir / back_end.name for back_end in BACK_ENDS if back_end.keeps_files]
    prepared = _inside(cache_dir / "prepared", "")
    entries = [path for kind in prepared for path in _inside(kind, "")]

    # Our own folders hold scratch folders only. In others, only an owner file shows that one is
    # ours.
    folders = [path for folder in back_ends for path in _inside(folder / "live", "")]
    folders += [path for path in _inside(cache_dir / "mirrors", "clone-") if path.is_dir()]
    temporary = _inside(Path(tempfile.gettempdir()), _TEMPORARY_PREFIX)
    folders += [path for path in (*temporary, *entries) if has_owner_file(path)]
    for folder in sorted(folders):
        yield Orphan(kind=OrphanKind.FOLDER, id=str(folder), owner_alive=is_owned(folder))

    # An unfinished file has no owner file, so its age decides.
    keys = [folder / kind for folder in back_ends for kind in ("snapshots/keys", "images/keys")]
    files = [path for folder in (*keys, *prepared, *entries) for path in _inside(folder, ".")]
    for file in sorted(files):
        with suppress(OSError):
            is_old = time.time() - file.lstat().st_mtime > _WRITTEN_WITHIN
            if file.name.endswith(UNFINISHED) and is_old:
                yield Orphan(kind=OrphanKind.FILE, id=str(file))

    hierarchy = find_hierarchy()
    parents = set[Path]() if hierarchy is None else set(hierarchy.parents.values())
    for group in sorted(path for parent in parents for path in parent.glob(f"{CGROUP_PREFIX}*")):
        alive = is_group_owner_alive(group)
        yield Orphan(kind=OrphanKind.CGROUP, id=str(group), owner_alive=alive)


def _inside(folder: Path, prefix: str) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
