"""Finds and removes the remains of dead runs in an engine; lists stored images."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agentbench.errors import SandboxError
from agentbench.sandbox.cleanup import Orphan, OrphanKind
from agentbench.sandbox.docker.container import remove_container
from agentbench.sandbox.docker.engine import DockerApi, DockerNotFoundError, Engine
from agentbench.sandbox.docker.images import TASK_REPOSITORY
from agentbench.sandbox.docker.snapshots import SNAPSHOT_REPOSITORY
from agentbench.sandbox.ownership import KIND, OURS, PROJECT, ProcessOwner

_STORED = (SNAPSHOT_REPOSITORY, TASK_REPOSITORY)


def find_engine_orphans(engine: Engine) -> tuple[Orphan, ...]:
    """Everything in the engine with our label, even if in use, except lasting images.

    Lasting images are snapshots and base images.
    """
    with engine.api("find orphans") as api:
        return (*_containers(api), *_networks(api), *_volumes(api), *_images(api))


def remove_dead_orphans(engine: Engine) -> tuple[Orphan, ...]:
    """Remove the orphans of dead runs; those that the engine refuses stay for `clean`."""
    removed: list[Orphan] = []
    for find in (_containers, _networks, _volumes, _images):  # in order: each may use the next one
        with engine.api("find orphans") as api:
            found = [orphan for orphan in find(api, measured=False) if not orphan.owner_alive]
        for orphan in found:
            with suppress(SandboxError):  # used by a container or image of another program
                remove_engine_orphans(engine, (orphan,))
                removed.append(orphan)
    return tuple(removed)


def remove_engine_orphans(
    engine: Engine, orphans: Iterable[Orphan], *, also_in_use: bool = False
) -> int:
    """Remove orphans, those with a living owner only on request; returns the number removed.

    Raises:
        SandboxError: the engine is lost, or does not remove one.
    """
    removed = 0
    for orphan in orphans:
        if orphan.owner_alive and not also_in_use:
            continue
        if orphan.kind == OrphanKind.CONTAINER:
            remove_container(engine, orphan.id)
        else:
            doing = f"remove the {orphan.kind} {orphan.id}"
            with suppress(DockerNotFoundError), engine.api(doing) as api:
                if orphan.kind == OrphanKind.NETWORK:
                    api.remove_network(orphan.id)
                elif orphan.kind == OrphanKind.VOLUME:
                    api.remove_volume(orphan.id)
                elif orphan.kind == OrphanKind.IMAGE:
                    api.remove_image(orphan.id)
        removed += 1
    return removed


def remove_project(engine: Engine, project: str) -> None:
    """Remove the containers, networks and volumes of a Compose project.

    Raises:
        SandboxError: the engine is lost, or does not remove one.
    """
    label = f"{PROJECT}={project}"
    for find in (_containers, _networks, _volumes):
        with engine.api("find the services of a sandbox") as api:
            found = tuple(find(api, measured=False, label=label))
        remove_engine_orphans(engine, found, also_in_use=True)


# Not by the plain label, which other people's containers inherit from our images.
def _containers(
    api: DockerApi, *, measured: bool = True, label: str = f"{KIND}=sandbox"
) -> Iterable[Orphan]:
    for found in api.containers(all=True, size=measured, filters={"label": label}):
        size = found.get("SizeRw") or 0
        yield _orphan(OrphanKind.CONTAINER, found["Id"], size, found.get("Labels"))


def _networks(api: DockerApi, *, measured: bool = True, label: str = OURS) -> Iterable[Orphan]:
    del measured  # they take no space
    for found in api.networks(filters={"label": label}):
        yield _orphan(OrphanKind.NETWORK, found["Id"], 0, found.get("Labels"))


def _volumes(api: DockerApi, *, measured: bool = True, label: str = OURS) -> Iterable[Orphan]:
    """The volumes that no container uses; the others are removed with their container."""
    found = api.volumes(filters={"label": label, "dangling": True})["Volumes"] or []
    sizes: Mapping[str, int] = {}
    if found and measured:  # for their sizes, the engine reads every volume
        sizes = {
            volume["Name"]: (volume.get("UsageData") or {}).get("Size", 0)
            for volume in api.df().get("Volumes") or []
        }
    for volume in found:
        size = max(0, sizes.get(volume["Name"], 0))
        yield _orphan(OrphanKind.VOLUME, volume["Name"], size, volume.get("Labels"))


def _images(api: DockerApi, *, measured: bool = True) -> Iterable[Orphan]:
    """Snapshots that were replaced or discarded while in use, and parts of unfinished snapshots."""
    del measured  # the engine returns the sizes anyway
    for found in api.images(filters={"label": OURS, "dangling": True}):
        size = found.get("Size") or 0
        yield _orphan(OrphanKind.IMAGE, found["Id"], size, found.get("Labels"))


def _orphan(kind: OrphanKind, name: str, size: int, labels: Mapping[str, str] | None) -> Orphan:
    owner = ProcessOwner.from_labels(labels or {})
    is_alive = owner is not None and owner.alive
    return Orphan(kind=kind, id=name, size_bytes=size, owner_alive=is_alive)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """A snapshot in an engine, or an image that was built from a task's Dockerfile."""

    name: str
    size_bytes: int  # without the layers of the named image that it is based on
    parent: str | None  # the name of the stored image that it is based on
    created_at: float  # seconds of the epoch
    in_use: bool  # whether a container uses it

    @property
    def key(self) -> str:
        """The key, if it is a snapshot."""
        return self.name.rpartition(":")[2]

    @property
    def is_snapshot(self) -> bool:
        return self.name.startswith(f"{SNAPSHOT_REPOSITORY}:")


def stored_images(engine: Engine) -> tuple[StoredImage, ...]:
    """Every snapshot, and every image of a task's Dockerfile."""
    found: list[StoredImage] = []
    with engine.api("look for stored images", moves_files=True) as api:
        containers = api.containers(all=True, filters={"label": f"{KIND}=sandbox"})
        used = {str(each.get("ImageID")) for each in containers}
        images = [each for name in _STORED for each in api.images(name)]
    for image in images:
        with suppress(DockerNotFoundError), engine.api("read its layers") as api:
            history = api.history(str(image["Id"]))  # type: ignore[no-untyped-call]  # the stubs' gap
            size, parent = _own_layers(history)
            for name in _stored_names(image.get("RepoTags")):
                stored = StoredImage(
                    name=name,
                    size_bytes=size,
                    parent=parent,
                    created_at=float(image.get("Created") or 0),
                    in_use=str(image["Id"]) in used,
                )
                found.append(stored)
    return tuple(found)


def remove_task_image(engine: Engine, name: str) -> bool:
    """Remove an image of a task's Dockerfile; returns whether it was removed.

    Images above it keep its layers. An attempt builds it again.
    """
    try:
        with engine.api(f"remove {name}") as api:
            api.remove_image(name)
    except DockerNotFoundError:
        return True
    except SandboxError:
        return False  # a container has begun to use it
    return True


def _own_layers(history: Iterable[Mapping[str, Any]]) -> tuple[int, str | None]:
    """The bytes of the layers above the next named image, and its name if it is a stored image."""
    size = 0
    for number, layer in enumerate(history):
        if number and layer.get("Tags"):
            return size, next(iter(_stored_names(layer["Tags"])), None)
        size += int(layer.get("Size") or 0)
    return size, None


def _stored_names(tags: Iterable[object] | None) -> list[str]:
    return [str(tag) for tag in tags or () if str(tag).rpartition(":")[0] in _STORED]
