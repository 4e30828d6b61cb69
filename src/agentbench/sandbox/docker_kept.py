"""What an engine keeps for later runs: snapshots of preparations, with what they really take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.docker_labels import KIND
from agentbench.sandbox.docker_snapshot import REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSnapshot:
    """One snapshot in an engine."""

    key: str
    size_bytes: int  # that no other image shares
    made_at: float  # seconds of the epoch
    in_use: bool  # by a container


def kept_snapshots(engine: Engine) -> tuple[KeptSnapshot, ...]:
    """Every snapshot under a key.

    Raises:
        SandboxError: the engine is lost.
    """
    with engine.speak("look for snapshots", moves_files=True) as api:
        containers = api.containers(all=True, filters={"label": f"{KIND}=sandbox"})
        images = api.df().get("Images") or []
    used = {str(each.get("ImageID")) for each in containers}
    return tuple(found for image in images for found in _snapshots(image, used))


def _snapshots(
    image: Mapping[str, Any],  # as the engine says it
    used: set[str],
) -> Iterator[KeptSnapshot]:
    size = int(image.get("Size") or 0) - max(0, int(image.get("SharedSize") or 0))
    for tag in image.get("RepoTags") or ():
        repository, _, key = str(tag).rpartition(":")
        if repository == REPOSITORY:
            yield KeptSnapshot(
                key=key,
                size_bytes=max(0, size),
                made_at=float(image.get("Created") or 0),
                in_use=str(image["Id"]) in used,
            )
