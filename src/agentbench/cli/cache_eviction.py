"""Which cache entries go first: the least recently used, and nothing in use.

A file with several names is counted once, by what it really takes on the disk.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Inode = tuple[int, int]
"""The device and the number of a file."""

_BLOCK = 512


def allocated_bytes_below(paths: Iterable[Path]) -> dict[Inode, int]:
    """The bytes that are allocated to each file and folder at some paths and below them."""
    found: dict[Inode, int] = {}
    waiting = [str(path) for path in paths]
    while waiting:
        with suppress(OSError):  # gone meanwhile, or not ours to see
            path = waiting.pop()
            facts = os.lstat(path)
            found[facts.st_dev, facts.st_ino] = facts.st_blocks * _BLOCK
            with os.scandir(path) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            with os.scandir(path) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        facts = entry.stat(follow_symlinks=False)
                        found[facts.st_dev, facts.st_ino] = facts.st_blocks * _BLOCK
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """One thing in the cache that can be made again."""

    kind: str  # "preparation", "base environment", "mirror", "toolbox", "baseline"
    name: str
    used_at: float  # seconds of the epoch
    in_use: bool
    folders: tuple[Path, ...] = ()  # what of it lies on this machine
    elsewhere_bytes: int = 0  # what of it lies in an engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionDecision:
    """A thing, what it takes for itself once those before it are gone, and whether it goes."""

    thing: CacheEntry
    size_bytes: int
    goes: bool


def plan_eviction(
    things: Iterable[CacheEntry], *, keep_bytes: int | None, unused_since: float | None
) -> list[EvictionDecision]:
    """What becomes of each thing, in the order in which they would go.

    Args:
        things: All there are.
        keep_bytes: How much may be left in all; None: any amount.
        unused_since: What was used last before this moment goes anyhow; None: nothing does.
    """
    ordered = sorted(things, key=lambda thing: (thing.used_at, thing.name))
    taken = _DiskUsage(ordered)
    fates: list[EvictionDecision] = []
    for thing in ordered:
        old = unused_since is not None and thing.used_at < unused_since
        too_much = keep_bytes is not None and taken.total > keep_bytes
        goes = not thing.in_use and (old or too_much)
        size = taken.without(thing) if goes else taken.size_of(thing)
        fates.append(EvictionDecision(thing=thing, size_bytes=size, goes=goes))
    return fates


class _DiskUsage:
    """What things take together: a file with links in several of them is there once."""

    def __init__(self, things: Sequence[CacheEntry]) -> None:
        self._inodes = {id(thing): allocated_bytes_below(thing.folders) for thing in things}
        self._links = Counter[Inode]()
        for found in self._inodes.values():
            self._links.update(found.keys())
        files = {inode: size for found in self._inodes.values() for inode, size in found.items()}
        self.total = sum(files.values()) + sum(thing.elsewhere_bytes for thing in things)

    def size_of(self, thing: CacheEntry) -> int:
        """What would be free without it."""
        own = self._inodes[id(thing)]
        alone = (size for inode, size in own.items() if self._links[inode] == 1)
        return sum(alone) + thing.elsewhere_bytes

    def without(self, thing: CacheEntry) -> int:
        """Take it away; returns what that frees."""
        freed = self.size_of(thing)
        self._links.subtract(self._inodes[id(thing)].keys())
        self.total -= freed
        return freed
