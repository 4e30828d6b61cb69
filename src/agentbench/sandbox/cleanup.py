"""Finds and removes what runs that died left on this machine.

Folders, unfinished files, control groups.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentbench.core.files import OWNER, UNFINISHED, has_owner_file, is_owned
from agentbench.sandbox.bubblewrap.cgroups import find_hierarchy, remove_group
from agentbench.sandbox.ownership import CGROUP_PREFIX, is_group_owner_alive
from agentbench.sandbox.trees import remove_tree, size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """One thing of ours on the machine; while its owner is alive it is in use, not left over."""

    kind: str  # "container", "volume", "folder", "cgroup"
    id: str  # what removes it: a container's id, a folder's path
    size_bytes: int = 0
    owner_alive: bool = False


_FOLDER, _GROUP, _FILE = "folder", "cgroup", "file"
_TEMPORARY = "agentbench-"  # how folders of ours among the temporary files begin
_WRITTEN_WITHIN = 60  # seconds; a file that is being written is renamed long before


def find_orphans(cache_dir: Path) -> tuple[Orphan, ...]:
    """All folders, files and control groups of runs; those whose owner lives are in use.

    Args:
        cache_dir: The one that providers are connected with.
    """
    return tuple(_measured(leftover) for leftover in _everything(cache_dir))


def find_dead_orphans(cache_dir: Path) -> tuple[Orphan, ...]:
    """Those whose owner is dead, unmeasured: quick enough for the start of every run."""
    return tuple(leftover for leftover in _everything(cache_dir) if not leftover.owner_alive)


def remove_orphans(leftovers: tuple[Orphan, ...]) -> tuple[Orphan, ...]:
    """Remove what no living process owns; returns what was removed."""
    dead = tuple(leftover for leftover in leftovers if not leftover.owner_alive)
    return tuple(leftover for leftover in dead if _removed(leftover))


def _removed(leftover: Orphan) -> bool:
    path = Path(leftover.id)
    try:
        match leftover.kind:
            case "folder":
                with suppress(NotADirectoryError, FileNotFoundError):
                    for entry in list(os.scandir(path)):
                        if entry.is_dir(follow_symlinks=False):
                            remove_tree(Path(entry.path))
                        elif entry.name != OWNER:
                            Path(entry.path).unlink(missing_ok=True)
                remove_tree(path)
            case "cgroup":
                remove_group(path)
            case "file":
                path.unlink(missing_ok=True)
            case _:
                return False
    except OSError:
        return False  # another user's, or its disk is gone; `clean` shows it again
    return True


def _everything(cache_dir: Path) -> Iterator[Orphan]:
    for folder in sorted(_folders(cache_dir)):
        yield Orphan(kind=_FOLDER, id=str(folder), owner_alive=is_owned(folder))
    for file in sorted(_unfinished_files(cache_dir)):
        yield Orphan(kind=_FILE, id=str(file))
    yield from _groups()


def _measured(leftover: Orphan) -> Orphan:
    if leftover.kind == _GROUP:
        return leftover
    path = Path(leftover.id)
    size = size_of(path) if leftover.kind == _FOLDER else path.lstat().st_size
    return Orphan(
        kind=leftover.kind, id=leftover.id, size_bytes=size, owner_alive=leftover.owner_alive
    )


def _folders(cache_dir: Path) -> Iterator[Path]:
    """In folders of ours, what is named like scratch; elsewhere, only what bears our mark."""
    yield from _inside(cache_dir / "bubblewrap" / "live", "")
    yield from (path for path in _inside(cache_dir / "mirrors", "clone-") if path.is_dir())
    temporary = _inside(Path(tempfile.gettempdir()), _TEMPORARY)
    prepared = (path for kind in _inside(cache_dir / "prepared", "") for path in _inside(kind, ""))
    for path in (*temporary, *prepared):
        if has_owner_file(path):
            yield path


def _unfinished_files(cache_dir: Path) -> Iterator[Path]:
    places = [cache_dir / noun / kind for noun in ("bubblewrap", "process")
              for kind in ("snapshots/keys", "images/keys")]  # fmt: skip
    places += _inside(cache_dir / "prepared", "")
    places += [path for kind in _inside(cache_dir / "prepared", "") for path in _inside(kind, "")]
    for place in places:
        for path in _inside(place, "."):
            if path.name.endswith(UNFINISHED) and _is_old(path):
                yield path


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime > _WRITTEN_WITHIN
    return False


def _groups() -> Iterator[Orphan]:
    hierarchy = find_hierarchy()
    parents = set[Path]() if hierarchy is None else set(hierarchy.parents.values())
    for folder in sorted(path for parent in parents for path in parent.glob(f"{CGROUP_PREFIX}*")):
        yield Orphan(kind=_GROUP, id=str(folder), owner_alive=is_group_owner_alive(folder))


def _inside(folder: Path, prefix: str) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
