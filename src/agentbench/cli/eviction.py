"""What goes first when the cache is to take less: the least recently used, and nothing in use."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.cli.inodes import Inode, inodes_below


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptThing:
    """One thing in the cache that can be made again."""

    kind: str  # "preparation", "base environment", "mirror", "toolbox", "baseline"
    name: str
    used_at: float  # seconds of the epoch
    in_use: bool
    folders: tuple[Path, ...] = ()  # what of it lies on this machine
    elsewhere_bytes: int = 0  # what of it lies in an engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """A thing, what it takes for itself once those before it are gone, and whether it goes."""

    thing: KeptThing
    size_bytes: int
    goes: bool


def decide(
    things: Iterable[KeptThing], *, keep_bytes: int | None, unused_since: float | None
) -> list[Fate]:
    """What becomes of each thing, in the order in which they would go.

    Args:
        things: All there are.
        keep_bytes: How much may be left in all; None: any amount.
        unused_since: What was used last before this moment goes anyhow; None: nothing does.
    """
    ordered = sorted(things, key=lambda thing: (thing.used_at, thing.name))
    taken = _Taken(ordered)
    fates: list[Fate] = []
    for thing in ordered:
        old = unused_since is not None and thing.used_at < unused_since
        too_much = keep_bytes is not None and taken.total > keep_bytes
        goes = not thing.in_use and (old or too_much)
        size = taken.without(thing) if goes else taken.size_of(thing)
        fates.append(Fate(thing=thing, size_bytes=size, goes=goes))
    return fates


class _Taken:
    """What things take together: a file with links in several of them is there once."""

    def __init__(self, things: Sequence[KeptThing]) -> None:
        self._inodes = {id(thing): inodes_below(thing.folders) for thing in things}
        self._links = Counter[Inode]()
        for found in self._inodes.values():
            self._links.update(found.keys())
        files = {inode: size for found in self._inodes.values() for inode, size in found.items()}
        self.total = sum(files.values()) + sum(thing.elsewhere_bytes for thing in things)

    def size_of(self, thing: KeptThing) -> int:
        """What would be free without it."""
        own = self._inodes[id(thing)]
        alone = (size for inode, size in own.items() if self._links[inode] == 1)
        return sum(alone) + thing.elsewhere_bytes

    def without(self, thing: KeptThing) -> int:
        """Take it away; returns what that frees."""
        freed = self.size_of(thing)
        self._links.subtract(self._inodes[id(thing)].keys())
        self.total -= freed
        return freed
