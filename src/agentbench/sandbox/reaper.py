"""What dead runs left in an engine: containers, volumes, images that lost their name."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_container import remove_container
from agentbench.sandbox.docker_engine import Api, Engine, NotThereError
from agentbench.sandbox.docker_labels import KIND, OURS, Owner
from agentbench.sandbox.leftover import Leftover


def find_leftovers(engine: Engine) -> tuple[Leftover, ...]:
    """All in the engine that bears our label and is of no lasting use, also what is in use now.

    Snapshots and base images are there to stay and are not among it.

    Raises:
        SandboxError: the engine is lost.
    """
    with engine.speak("look for leftovers") as api:
        return (*_containers(api), *_volumes(api), *_images(api))


def remove_dead(engine: Engine) -> tuple[Leftover, ...]:
    """Remove what dead runs left, quickly; what the engine does not give up stays for `clean`.

    Raises:
        SandboxError: the engine is lost.
    """
    removed: list[Leftover] = []
    for find in (_containers, _volumes, _images):  # in this order: one sets the next free
        with engine.speak("look for leftovers") as api:
            found = [leftover for leftover in find(api, measured=False) if not leftover.owner_alive]
        for leftover in found:
            with suppress(SandboxError):  # in use by what somebody made from it
                remove(engine, (leftover,))
                removed.append(leftover)
    return tuple(removed)


def remove(engine: Engine, leftovers: Iterable[Leftover], *, also_in_use: bool = False) -> int:
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
            _remove_thing(engine, leftover)
        removed += 1
    return removed


def _remove_thing(engine: Engine, leftover: Leftover) -> None:
    with suppress(NotThereError), engine.speak(f"remove the {leftover.kind} {leftover.id}") as api:
        if leftover.kind == "volume":
            api.remove_volume(leftover.id)
        elif leftover.kind == "image":
            api.remove_image(leftover.id)


def _containers(api: Api, *, measured: bool = True) -> Iterable[Leftover]:
    # Not by the plain label: a container that somebody makes from an image of ours inherits it.
    ours = {"label": f"{KIND}=sandbox"}
    for found in api.containers(all=True, size=measured, filters=ours):
        yield Leftover(
            kind="container",
            id=found["Id"],
            size_bytes=found.get("SizeRw") or 0,
            owner_alive=_owner_alive(found.get("Labels")),
        )


def _volumes(api: Api, *, measured: bool = True) -> Iterable[Leftover]:
    """Those that no container uses: the others go with theirs."""
    found = api.volumes(filters={"label": OURS, "dangling": True})["Volumes"] or []
    sizes: Mapping[str, int] = {}
    if found and measured:  # the engine walks through every volume to tell
        sizes = {
            volume["Name"]: (volume.get("UsageData") or {}).get("Size", 0)
            for volume in api.df().get("Volumes") or []
        }
    for volume in found:
        yield Leftover(
            kind="volume",
            id=volume["Name"],
            size_bytes=max(0, sizes.get(volume["Name"], 0)),
            owner_alive=_owner_alive(volume.get("Labels")),
        )


def _images(api: Api, *, measured: bool = True) -> Iterable[Leftover]:
    """Snapshots that were replaced or discarded while in use, and halves of unfinished ones."""
    del measured  # the engine tells it anyway
    for found in api.images(filters={"label": OURS, "dangling": True}):
        yield Leftover(
            kind="image",
            id=found["Id"],
            size_bytes=found.get("Size") or 0,
            owner_alive=_owner_alive(found.get("Labels")),
        )


def _owner_alive(labels: Mapping[str, str] | None) -> bool:
    owner = Owner.from_labels(labels or {})
    return owner is not None and owner.alive
