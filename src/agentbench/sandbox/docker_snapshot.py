"""States of sandboxes, kept as images: one image a key, whole or not there.

The workspace is a volume, which a commit leaves out; so it is put into the image's own
workspace, from where the engine fills the fresh volume of every container made from it. That is
quicker than to send a tar at each opening (20 MB in 2,000 files: 0.7 s against 1.2 s), and works
the same with an engine elsewhere.
"""

import uuid
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentbench.errors import SandboxError
from agentbench.sandbox import podman
from agentbench.sandbox.docker_container import Container, remove_container
from agentbench.sandbox.docker_engine import Api, Engine, ImageFacts, NotThereError
from agentbench.sandbox.docker_facts import Product
from agentbench.sandbox.docker_labels import Owner, labels_of
from agentbench.sandbox.docker_options import USER
from agentbench.sandbox.interface import SnapshotId

REPOSITORY: Final = "agentbench/snapshot"
"""The name of all snapshots; the tag is the key."""
_WIPE = f'rm -rf "$1" && mkdir "$1" && chown {USER} "$1"'
_WIPE_SECONDS = 120


def remember(engine: Engine, container: Container, key: str) -> SnapshotId:
    """Keep the environment and the workspace of a container under a key.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    replaced = find(engine, key)
    holder = f"agentbench-{uuid.uuid4().hex}"
    with engine.speak("remember the environment", moves_files=True) as api:
        environment = str(api.commit(container.name, pause=False)["Id"])
    try:
        with engine.speak("remember the workspace", moves_files=True) as api:
            _fill(engine, api, holder, environment, container)
            api.commit(holder, REPOSITORY, key, pause=False, changes=_changes(container.plan.owner))
    except BaseException:
        with suppress(SandboxError), engine.speak("forget an unfinished snapshot") as api:
            remove_container(engine, holder)
            api.remove_image(environment)
        raise
    remove_container(engine, holder)
    if replaced is not None:
        _remove_image(engine, replaced.facts.id)
    return SnapshotId(f"{REPOSITORY}:{key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSnapshot:
    """A snapshot that is there, and the image that it is."""

    id: SnapshotId
    facts: ImageFacts


def find(engine: Engine, key: str) -> FoundSnapshot | None:
    """The snapshot that was made under a key.

    Raises:
        SandboxError: the engine is lost.
    """
    name = SnapshotId(f"{REPOSITORY}:{key}")
    try:
        return FoundSnapshot(id=name, facts=engine.image(name))
    except NotThereError:
        return None


def discard(engine: Engine, snapshot: SnapshotId) -> None:
    """Forget a snapshot; one that is gone is no error.

    Raises:
        SandboxError: the engine is lost.
    """
    with suppress(NotThereError), engine.speak(f"discard {snapshot}") as api:
        api.remove_image(snapshot, force=True)


def _fill(engine: Engine, api: Api, holder: str, image: str, origin: Container) -> None:
    """Make a container without volumes that has the workspace of another in its own."""
    labels = labels_of("sandbox", origin.plan.owner)
    workspace = origin.plan.workspace
    stream, _ = api.get_archive(origin.name, f"{workspace}/.", chunk_size=1 << 20)
    with closing(stream):
        if engine.facts.product is Product.PODMAN:
            podman.make_holder(api, holder, image, labels=labels, place=workspace, files=stream)
            return
        _create_holder(api, holder, image, workspace, labels)
        if origin.plan.holds_workspace:
            api.start(holder)
            api.wait(holder, timeout=_WIPE_SECONDS)
        api.put_archive(holder, str(workspace), stream)


def _create_holder(
    api: Api, name: str, image: str, workspace: PurePosixPath, labels: dict[str, str]
) -> None:
    """A container whose workspace is empty, once it has run if its image has one."""
    api.create_container(
        image,
        name=name,
        user="0:0",
        entrypoint=["/bin/sh", "-c", _WIPE, "sh", str(workspace)],
        command=[],
        network_disabled=True,
        labels=labels,
        host_config={
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            # To remove what belongs to the user, and to give it the empty folder.
            "CapAdd": ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
            "SecurityOpt": ["no-new-privileges"],
            "LogConfig": {"Type": "none"},
        },
    )


def _changes(owner: Owner) -> list[str]:
    """What a snapshot's image says of itself.

    It names its maker. The engine makes an image first and names it then; in between, another
    process may look for the nameless images of dead ones.
    """
    labels = labels_of("snapshot", owner)
    # A line for each, and no quotes: Podman takes them for a part of the value.
    return [*(f"LABEL {name}={value}" for name, value in labels.items()), "ENTRYPOINT []", "CMD []"]


def _remove_image(engine: Engine, image: str) -> None:
    """Remove an image that lost its name; while a sandbox uses it, it is left to the reaper."""
    with suppress(SandboxError), engine.speak("remove a snapshot that was replaced") as api:
        api.remove_image(image)
