"""The entries of the cache, their removal, and the order of their eviction.

A file with several names is counted once, by the space that it takes on the disk.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.agents.client_bundles import bundles_folder
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.core.extensions import Slot, offers
from agentbench.core.file_locks import removal_lock, users_file
from agentbench.core.files import has_owner_file
from agentbench.errors import SandboxError, UnavailableError
from agentbench.judge.verdict_cache import FOLDER as VERDICTS
from agentbench.sandbox import cleanup as local
from agentbench.sandbox.back_ends import BACK_ENDS
from agentbench.sandbox.docker import cleanup
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import remove_tree

Inode = tuple[int, int]
"""The device and the number of a file."""

_BLOCK = 512  # bytes of `st_blocks`, whatever the file system's own blocks are
_LATER = 0.001  # seconds
_LOCAL_KINDS = frozenset({"folder", "cgroup"})


def allocated_bytes_below(paths: Iterable[Path]) -> dict[Inode, int]:
    """The bytes that are allocated to each file and folder at some paths and below them."""
    found: dict[Inode, int] = {}
    for top in paths:
        below = (
            f"{folder}/{name}"
            for folder, folders, files in os.walk(top)
            for name in (*folders, *files)
        )
        for path in (str(top), *below):
            # A file may be gone meanwhile, or not ours to see.
            with suppress(OSError):
                facts = os.lstat(path)
                found[facts.st_dev, facts.st_ino] = facts.st_blocks * _BLOCK
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """Something in the cache that can be created again."""

    kind: str  # "preparation", "base environment", "task image", "mirror", "toolbox", "baseline", …
    name: str
    used_at: float  # seconds of the epoch
    in_use: bool
    folders: tuple[Path, ...] = ()  # its files on this machine
    elsewhere_bytes: int = 0  # its size in an engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionDecision:
    """An entry, whether it is removed, and the bytes that this frees after those before it."""

    entry: CacheEntry
    size_bytes: int
    goes: bool


def plan_eviction(
    entries: Iterable[CacheEntry], *, keep_bytes: int | None, unused_since: float | None
) -> list[EvictionDecision]:
    """Whether each entry is removed, in the order of removal.

    At most `keep_bytes` are left in all; entries last used before `unused_since` go in any case.
    """
    ordered = sorted(entries, key=lambda entry: (entry.used_at, entry.name))
    usage = _DiskUsage(ordered)
    decisions: list[EvictionDecision] = []
    for entry in ordered:
        old = unused_since is not None and entry.used_at < unused_since
        too_much = keep_bytes is not None and usage.total > keep_bytes
        goes = not entry.in_use and (old or too_much)
        size = usage.without(entry) if goes else usage.size_of(entry)
        decisions.append(EvictionDecision(entry=entry, size_bytes=size, goes=goes))
    return decisions


class _DiskUsage:
    """The disk space of several entries: a file with links in several of them counts once."""

    def __init__(self, entries: Sequence[CacheEntry]) -> None:
        self._inodes = {id(entry): allocated_bytes_below(entry.folders) for entry in entries}
        self._links = Counter[Inode]()
        for found in self._inodes.values():
            self._links.update(found.keys())
        files = {inode: size for found in self._inodes.values() for inode, size in found.items()}
        self.total = sum(files.values()) + sum(entry.elsewhere_bytes for entry in entries)

    def size_of(self, entry: CacheEntry) -> int:
        """The space that removing it would free."""
        own = self._inodes[id(entry)]
        alone = (size for inode, size in own.items() if self._links[inode] == 1)
        return sum(alone) + entry.elsewhere_bytes

    def without(self, entry: CacheEntry) -> int:
        """Remove an entry; returns what that frees."""
        freed = self.size_of(entry)
        self._links.subtract(self._inodes[id(entry)].keys())
        self.total -= freed
        return freed


_LOCAL = tuple(back_end.name for back_end in BACK_ENDS if back_end.keeps_files)


@dataclass(slots=True, kw_only=True)
class CacheContents:
    """All entries below one folder, and in the engine that answers."""

    folder: Path
    engine: Engine | None
    _providers: dict[str, SandboxProvider | None] = field(default_factory=dict)

    @classmethod
    def connect(cls, folder: Path) -> "CacheContents":
        return cls(folder=folder, engine=_engine())

    def entries(self) -> list[CacheEntry]:
        return [
            *self._preparations(),
            *self._entries_in_engine(),
            *self._bases_and_shared(),
            *self._single_files("baseline", "prepared"),
            *self._single_files("verdict", VERDICTS),
        ]

    def prepared_folders(self) -> list[Path]:
        """Our files of all preparations, without the images in an engine."""
        found = sorted((self.folder / "prepared").glob("*/*/"))
        return [folder for folder in found if not has_owner_file(folder)]

    def give_up(self, entry: CacheEntry) -> bool:
        """Remove an entry unless it is now in use; returns whether it is gone."""
        match entry.kind:
            case "preparation":
                return self.forget_preparation(entry.name)
            case "base environment":
                back_end, _, key = entry.name.partition("/")
                store = self._store(back_end, "image")
                if store.is_in_use(key):
                    return False
                store.discard(store.id_of(key))
                return True
            case "task image":
                return self.engine is not None and cleanup.remove_task_image(
                    self.engine, entry.name
                )
            case "baseline" | "verdict":
                entry.folders[0].unlink(missing_ok=True)
                return True
            case _:
                (path,) = entry.folders
                with removal_lock(path) as allowed:
                    if allowed:
                        remove_tree(path)
                        users_file(path).unlink(missing_ok=True)
                return allowed

    def forget_preparation(self, name: str) -> bool:
        """Remove a preparation (`process/KEY`) unless it is being created or in use."""
        back_end, _, key = name.partition("/")
        if back_end not in self._providers:
            self._providers[back_end] = None
            with suppress(UnavailableError, SandboxError):
                selected = select_back_end(back_end, cache_dir=self.folder)
                self._providers[back_end] = selected.provider
        provider = self._providers[back_end]
        # Without its engine, the snapshot is out of reach and would be left without an entry.
        if provider is None:
            return False
        cache = PreparationCache(self.folder / "prepared", provider)
        with removal_lock(cache.folder / key) as allowed:
            if allowed:
                cache.forget(key)
        return allowed

    def _store(self, back_end: str, noun: str) -> SnapshotStore:
        folder = self.folder / back_end / f"{noun}s"
        return SnapshotStore(folder=folder, prefix=f"{back_end}-{noun}", owner=None)

    def _preparations(self) -> Iterator[CacheEntry]:
        for back_end in _LOCAL:
            store = self._store(back_end, "snapshot")
            for key in sorted({*self._prepared(back_end), *store.known_keys()}):
                state = store.folder_of(key)
                folder = self.folder / "prepared" / back_end / key
                used_at = max(_mtime(folder), store.used_at(key) if state else 0)
                yield CacheEntry(
                    kind="preparation",
                    name=f"{back_end}/{key}",
                    used_at=used_at,
                    in_use=_is_used(folder) or store.is_in_use(key),
                    folders=(folder, state) if state else (folder,),
                )

    def _entries_in_engine(self) -> Iterator[CacheEntry]:
        stored = dict[str, cleanup.StoredImage]()
        if self.engine is not None:
            with suppress(SandboxError):
                stored = {each.name: each for each in cleanup.stored_images(self.engine)}
        folders = self.folder / "prepared" / "docker"
        used_at = {
            name: (_mtime(folders / each.key) if each.is_snapshot else 0) or each.created_at
            for name, each in stored.items()
        }
        # Using an image also uses those below it, so an image is removed after those above it. An
        # import of hundreds of instances leaves hundreds of images that share most layers.
        for name in sorted(stored, key=lambda each: -_depth(each, stored)):
            parent = stored[name].parent
            if parent in used_at:
                used_at[parent] = max(used_at[parent], used_at[name] + _LATER)
        snapshots = {each.key: each for each in stored.values() if each.is_snapshot}
        for key in sorted({*self._prepared("docker"), *snapshots}):
            snapshot, folder = snapshots.get(key), folders / key
            yield CacheEntry(
                kind="preparation",
                name=f"docker/{key}",
                used_at=used_at[snapshot.name] if snapshot else _mtime(folder),
                in_use=_is_used(folder) or (snapshot is not None and snapshot.in_use),
                folders=(folder,),
                elsewhere_bytes=snapshot.size_bytes if snapshot else 0,
            )
        for name, image in sorted(stored.items()):
            if not image.is_snapshot:
                yield CacheEntry(
                    kind="task image",
                    name=name,
                    used_at=used_at[name],
                    in_use=image.in_use,
                    elsewhere_bytes=image.size_bytes,
                )

    def _prepared(self, back_end: str) -> set[str]:
        return {each.name for each in self.prepared_folders() if each.parent.name == back_end}

    def _bases_and_shared(self) -> Iterator[CacheEntry]:
        for back_end in _LOCAL:
            store = self._store(back_end, "image")
            for key in store.known_keys():
                yield CacheEntry(
                    kind="base environment",
                    name=f"{back_end}/{key}",
                    used_at=store.used_at(key),
                    in_use=store.is_in_use(key),
                    folders=tuple(filter(None, (store.folder_of(key),))),
                )
        for path in sorted((self.folder / "mirrors").glob("*.git/")):
            used_at = _mtime(path / "agentbench.json") or _mtime(path)
            yield _shared_entry("mirror", path, used_at)
        for path in sorted(bundles_folder(self.folder).glob("*/")):
            yield _shared_entry("toolbox", path, _mtime(path))
        for kind, row in offers(Slot.STORED_LIBRARIES).items():
            for path in row.load()(self.folder):
                yield _shared_entry(kind, path, _mtime(path))

    def _single_files(self, kind: str, folder: str) -> Iterator[CacheEntry]:
        for path in sorted((self.folder / folder).glob("*/*.json")):
            name = f"{path.parent.name}/{path.name}"
            yield CacheEntry(
                kind=kind, name=name, used_at=_mtime(path), in_use=False, folders=(path,)
            )


def _depth(name: str, stored: Mapping[str, cleanup.StoredImage]) -> int:
    """The number of stored images below one."""
    parent = stored[name].parent
    return 0 if parent is None or parent not in stored else 1 + _depth(parent, stored)


def _shared_entry(kind: str, path: Path, used_at: float) -> CacheEntry:
    in_use = _is_used(path)
    return CacheEntry(kind=kind, name=path.name, used_at=used_at, in_use=in_use, folders=(path,))


def _is_used(entry: Path) -> bool:
    # Taking the lock would create its folder.
    if not entry.parent.is_dir():
        return False
    with removal_lock(entry) as allowed:
        return not allowed


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find_all_orphans(cache_dir: Path) -> tuple[local.Orphan, ...]:
    """All our objects on the machine and in its engine, including those of living runs."""
    engine = _engine()
    in_engine = cleanup.find_engine_orphans(engine) if engine is not None else ()
    return (*in_engine, *local.find_orphans(cache_dir))


def remove_dead_orphans(orphans: Sequence[local.Orphan]) -> None:
    """Remove those whose owner is dead, on this machine and in an engine that answers."""
    dead = [each for each in orphans if not each.owner_alive]
    in_engine = [each for each in dead if each.kind not in _LOCAL_KINDS]
    engine = _engine() if in_engine else None
    if engine is not None:
        cleanup.remove_engine_orphans(engine, in_engine)
    local.remove_orphans(tuple(each for each in dead if each.kind in _LOCAL_KINDS))


def _engine() -> Engine | None:
    try:
        return Engine.connect()
    except (UnavailableError, SandboxError):
        return None
