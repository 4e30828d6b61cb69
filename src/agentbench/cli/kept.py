"""What the cache keeps for later runs, and how one thing of it is given up."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.agents.toolbox.toolboxes import toolboxes_in
from agentbench.cli.eviction import KeptThing
from agentbench.errors import SandboxError, UnavailableError
from agentbench.in_use import removing, users_of
from agentbench.owned_folder import has_owner_file
from agentbench.sandbox.choose import choose_provider
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.docker_kept import KeptSnapshot, kept_snapshots
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import remove_tree
from agentbench.stages.preparation import PreparationCache
from agentbench.symbolic.library import kept_libraries

_LOCAL = ("bubblewrap", "process")


@dataclass(slots=True, kw_only=True)
class Cache:
    """All that can be made again below one folder, and in the engine that answers."""

    folder: Path
    engine: Engine | None
    _providers: dict[str, SandboxProvider | None] = field(default_factory=dict)

    @classmethod
    def connect(cls, folder: Path) -> "Cache":
        """The cache, with an engine if one answers."""
        try:
            return cls(folder=folder, engine=Engine.connect())
        except (UnavailableError, SandboxError):
            return cls(folder=folder, engine=None)

    def things(self) -> list[KeptThing]:
        """Everything that is kept, with the locks looked at now."""
        made = (*self._preparations(), *self._bases(), *self._mirrors(), *self._toolboxes())
        return [*made, *self._libraries(), *self._baselines()]

    def give_up(self, thing: KeptThing) -> bool:
        """Remove a thing, unless somebody has begun to use it; says whether it is gone."""
        match thing.kind:
            case "preparation":
                return self._forget(thing.name)
            case "base environment":
                back_end, _, key = thing.name.partition("/")
                return _discard_base(self._store(back_end, "image"), key)
            case "baseline":
                thing.folders[0].unlink(missing_ok=True)
                return True
            case _:
                return _remove(thing.folders[0])

    def _forget(self, name: str) -> bool:
        back_end, _, key = name.partition("/")
        provider = self._provider(back_end)
        if provider is None:
            return False  # its snapshot is out of reach
        cache = PreparationCache(self.folder / "prepared", provider)
        with removing(cache.folder / key) as allowed:
            if allowed:
                cache.forget(key)
        return allowed

    def _provider(self, name: str) -> SandboxProvider | None:
        if name not in self._providers:
            self._providers[name] = None
            with suppress(UnavailableError, SandboxError):
                self._providers[name] = choose_provider(name, cache_dir=self.folder).provider
        return self._providers[name]

    def _store(self, back_end: str, noun: str) -> SnapshotStore:
        folder = self.folder / back_end / f"{noun}s"
        return SnapshotStore(folder=folder, prefix=f"{back_end}-{noun}", owner=None)

    def _preparations(self) -> Iterator[KeptThing]:
        for back_end in _LOCAL:
            store = self._store(back_end, "snapshot")
            for key in sorted({*self._prepared(back_end), *store.known_keys()}):
                state = store.folder_of(key)
                folder = self.folder / "prepared" / back_end / key
                used_at = max(_mtime(folder), store.used_at(key) if state else 0)
                yield KeptThing(
                    kind="preparation",
                    name=f"{back_end}/{key}",
                    used_at=used_at,
                    in_use=_is_used(folder) or store.is_held(key),
                    folders=(folder, state) if state else (folder,),
                )
        yield from self._preparations_in_engine()

    def _preparations_in_engine(self) -> Iterator[KeptThing]:
        snapshots = dict[str, KeptSnapshot]()
        if self.engine is not None:
            with suppress(SandboxError):
                snapshots = {each.key: each for each in kept_snapshots(self.engine)}
        for key in sorted({*self._prepared("docker"), *snapshots}):
            snapshot, folder = snapshots.get(key), self.folder / "prepared" / "docker" / key
            yield KeptThing(
                kind="preparation",
                name=f"docker/{key}",
                used_at=_mtime(folder) or (snapshot.made_at if snapshot else 0),
                in_use=_is_used(folder) or (snapshot is not None and snapshot.in_use),
                folders=(folder,),
                elsewhere_bytes=snapshot.size_bytes if snapshot else 0,
            )

    def _prepared(self, back_end: str) -> set[str]:
        found = (self.folder / "prepared" / back_end).glob("*/")
        return {path.name for path in found if not has_owner_file(path)}

    def _bases(self) -> Iterator[KeptThing]:
        for back_end in _LOCAL:
            store = self._store(back_end, "image")
            for key in store.known_keys():
                yield KeptThing(
                    kind="base environment",
                    name=f"{back_end}/{key}",
                    used_at=store.used_at(key),
                    in_use=store.is_held(key),
                    folders=tuple(filter(None, (store.folder_of(key),))),
                )

    def _mirrors(self) -> Iterator[KeptThing]:
        for path in sorted((self.folder / "mirrors").glob("*.git/")):
            used_at = _mtime(path / "agentbench.json") or _mtime(path)
            yield _shared("mirror", path, used_at)

    def _toolboxes(self) -> Iterator[KeptThing]:
        for path in sorted(toolboxes_in(self.folder).glob("*/")):
            yield _shared("toolbox", path, _mtime(path))

    def _libraries(self) -> Iterator[KeptThing]:
        for path in kept_libraries(self.folder):
            yield _shared("symbolic library", path, _mtime(path))

    def _baselines(self) -> Iterator[KeptThing]:
        for path in sorted((self.folder / "prepared").glob("*/*.json")):
            name = f"{path.parent.name}/{path.name}"
            yield KeptThing(
                kind="baseline", name=name, used_at=_mtime(path), in_use=False, folders=(path,)
            )


def _shared(kind: str, path: Path, used_at: float) -> KeptThing:
    used = _is_used(path)
    return KeptThing(kind=kind, name=path.name, used_at=used_at, in_use=used, folders=(path,))


def _is_used(thing: Path) -> bool:
    """Whether somebody uses or makes it; nothing is made by looking where nothing was used."""
    if not thing.parent.is_dir():
        return False
    with removing(thing) as allowed:
        return not allowed


def _remove(path: Path) -> bool:
    with removing(path) as allowed:
        if allowed:
            remove_tree(path)
            users_of(path).unlink(missing_ok=True)
    return allowed


def _discard_base(store: SnapshotStore, key: str) -> bool:
    if store.is_held(key):
        return False
    store.discard(store.id_of(key))
    return True


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
