"""What is in an engine of ours.

What runs that died left (containers, volumes, images), and the snapshots that are stored for later
runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agentbench.errors import SandboxError
from agentbench.sandbox.cleanup import Orphan
from agentbench.sandbox.docker.container import remove_container
from agentbench.sandbox.docker.engine import DockerApi, DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import SNAPSHOT_REPOSITORY
from agentbench.sandbox.ownership import KIND, OURS, ProcessOwner


def find_engine_orphans(engine: Engine) -> tuple[Orphan, ...]:
    """All in the engine that bears our label and is of no lasting use, also what is in use now.

    Snapshots and base images are there to stay and are not among it.

    Raises:
        SandboxError: the engine is lost.
    """
    with engine.api("look for leftovers") as api:
        return (*_containers(api), *_volumes(api), *_images(api))


def remove_dead_orphans(engine: Engine) -> tuple[Orphan, ...]:
    """Remove what dead runs left, quickly; what the engine does not give up stays for `clean`.

    Raises:
        SandboxError: the engine is lost.
    """
    removed: list[Orphan] = []
    for find in (_containers, _volumes, _images):  # in this order: one sets the next free
        with engine.api("look for leftovers") as api:
            found = [leftover for leftover in find(api, measured=False) if not leftover.owner_alive]
        for leftover in found:
            with suppress(SandboxError):  # in use by what somebody made from it
                remove_engine_orphans(engine, (leftover,))
                removed.append(leftover)
    return tuple(removed)


def remove_engine_orphans(
    engine: Engine, leftovers: Iterable[Orphan], *, also_in_use: bool = False
) -> int:
    """Remove leftovers, those with a living owner only if asked; returns how many are gone.

    Raises:
        SandboxError: the engine is lost, or does not remove one.
    """
    removed = 0
    for leftover in leftovers:
        if leftover.owner_alive and not also_in_use:
            continue
        if leftover.kind == "container":
            remove_container(engine, leftover.id)
        else:
            with (
                suppress(DockerNotFoundError),
                engine.api(f"remove the {leftover.kind} {leftover.id}") as api,
            ):
                if leftover.kind == "volume":
                    api.remove_volume(leftover.id)
                elif leftover.kind == "image":
                    api.remove_image(leftover.id)
        removed += 1
    return removed


def _containers(api: DockerApi, *, measured: bool = True) -> Iterable[Orphan]:
    # Not by the plain label: a container that somebody makes from an image of ours inherits it.
    ours = {"label": f"{KIND}=sandbox"}
    for found in api.containers(all=True, size=measured, filters=ours):
        yield Orphan(
            kind="container",
            id=found["Id"],
            size_bytes=found.get("SizeRw") or 0,
            owner_alive=_owner_alive(found.get("Labels")),
        )


def _volumes(api: DockerApi, *, measured: bool = True) -> Iterable[Orphan]:
    """Those that no container uses: the others go with theirs."""
    found = api.volumes(filters={"label": OURS, "dangling": True})["Volumes"] or []
    sizes: Mapping[str, int] = {}
    if found and measured:  # the engine walks through every volume to tell
        sizes = {
            volume["Name"]: (volume.get("UsageData") or {}).get("Size", 0)
            for volume in api.df().get("Volumes") or []
        }
    for volume in found:
        yield Orphan(
            kind="volume",
            id=volume["Name"],
            size_bytes=max(0, sizes.get(volume["Name"], 0)),
            owner_alive=_owner_alive(volume.get("Labels")),
        )


def _images(api: DockerApi, *, measured: bool = True) -> Iterable[Orphan]:
    """Snapshots that were replaced or discarded while in use, and halves of unfinished ones."""
    del measured  # the engine tells it anyway
    for found in api.images(filters={"label": OURS, "dangling": True}):
        yield Orphan(
            kind="image",
            id=found["Id"],
            size_bytes=found.get("Size") or 0,
            owner_alive=_owner_alive(found.get("Labels")),
        )


def _owner_alive(labels: Mapping[str, str] | None) -> bool:
    owner = ProcessOwner.from_labels(labels or {})
    return owner is not None and owner.alive


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """One snapshot in an engine."""

    key: str
    size_bytes: int  # that no other image shares
    made_at: float  # seconds of the epoch
    in_use: bool  # by a container


def stored_snapshots(engine: Engine) -> tuple[StoredSnapshot, ...]:
    """Every snapshot under a key.

    Raises:
        SandboxError: the engine is lost.
    """
    with engine.api("look for snapshots", moves_files=True) as api:
        containers = api.containers(all=True, filters={"label": f"{KIND}=sandbox"})
        images = api.df().get("Images") or []
    used = {str(each.get("ImageID")) for each in containers}
    return tuple(found for image in images for found in _snapshots(image, used))


def _snapshots(
    image: Mapping[str, Any],  # as the engine says it
    used: set[str],
) -> Iterator[StoredSnapshot]:
    size = int(image.get("Size") or 0) - max(0, int(image.get("SharedSize") or 0))
    for tag in image.get("RepoTags") or ():
        repository, _, key = str(tag).rpartition(":")
        if repository == SNAPSHOT_REPOSITORY:
            yield StoredSnapshot(
                key=key,
                size_bytes=max(0, size),
                made_at=float(image.get("Created") or 0),
                in_use=str(image["Id"]) in used,
            )
