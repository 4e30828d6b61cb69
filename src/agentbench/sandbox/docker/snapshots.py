"""States of sandboxes stored as images, one image for each key.

With what Podman's Docker API leaves out.

The workspace is a volume, which a commit leaves out; so it is put into the image's own workspace,
from where the engine fills the fresh volume of every container made from it. That is quicker than
to send a tar at each opening (20 MB in 2,000 files: 0.7 s against 1.2 s), and works the same with
an engine elsewhere.
"""

import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentbench.errors import SandboxError
from agentbench.sandbox.docker import snapshots
from agentbench.sandbox.docker.archives import owned_folders
from agentbench.sandbox.docker.container import DockerContainer, remove_container
from agentbench.sandbox.docker.container_options import USER
from agentbench.sandbox.docker.engine import (
    DockerApi,
    DockerNotFoundError,
    Engine,
    EngineProduct,
    ImageFacts,
)
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.ownership import ProcessOwner, labels_of

SNAPSHOT_REPOSITORY: Final = "agentbench/snapshot"
"""The name of all snapshots; the tag is the key."""
_WIPE = f'rm -rf "$1" && mkdir "$1" && chown {USER} "$1"'
_WIPE_SECONDS = 120


def save_snapshot(engine: Engine, container: DockerContainer, key: str) -> SnapshotId:
    """Keep the environment and the workspace of a container under a key.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    replaced = find_snapshot(engine, key)
    holder = f"agentbench-{uuid.uuid4().hex}"
    with engine.api("remember the environment", moves_files=True) as api:
        environment = str(api.commit(container.name, pause=False)["Id"])
    try:
        with engine.api("remember the workspace", moves_files=True) as api:
            _fill_holder(engine, api, holder, environment, container)
            api.commit(
                holder,
                SNAPSHOT_REPOSITORY,
                key,
                pause=False,
                changes=_changes(container.plan.owner),
            )
    except BaseException:
        with suppress(SandboxError), engine.api("forget an unfinished snapshot") as api:
            remove_container(engine, holder)
            api.remove_image(environment)
        raise
    remove_container(engine, holder)
    if replaced is not None:
        _remove_image(engine, replaced.facts.id)
    return SnapshotId(f"{SNAPSHOT_REPOSITORY}:{key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotImage:
    """A snapshot that is there, and the image that it is."""

    id: SnapshotId
    facts: ImageFacts


def find_snapshot(engine: Engine, key: str) -> SnapshotImage | None:
    """The snapshot that was made under a key.

    Raises:
        SandboxError: the engine is lost.
    """
    name = SnapshotId(f"{SNAPSHOT_REPOSITORY}:{key}")
    try:
        return SnapshotImage(id=name, facts=engine.image(name))
    except DockerNotFoundError:
        return None


def discard_snapshot(engine: Engine, snapshot: SnapshotId) -> None:
    """Forget a snapshot; one that is gone is no error.

    Raises:
        SandboxError: the engine is lost.
    """
    with suppress(DockerNotFoundError), engine.api(f"discard {snapshot}") as api:
        api.remove_image(snapshot, force=True)


def _fill_holder(
    engine: Engine, api: DockerApi, holder: str, image: str, origin: DockerContainer
) -> None:
    """Make a container without volumes that has the workspace of another in its own."""
    labels = labels_of("sandbox", origin.plan.owner)
    workspace = origin.plan.workspace
    stream, _ = api.get_archive(origin.name, f"{workspace}/.", chunk_size=1 << 20)
    with closing(stream):
        if engine.facts.product is EngineProduct.PODMAN:
            snapshots.make_podman_holder(
                api, holder, image, labels=labels, place=workspace, files=stream
            )
            return
        _create_holder(api, holder, image, workspace, labels)
        if origin.plan.holds_workspace:
            api.start(holder)
            api.wait(holder, timeout=_WIPE_SECONDS)
        api.put_archive(holder, str(workspace), stream)


def _create_holder(
    api: DockerApi, name: str, image: str, workspace: PurePosixPath, labels: dict[str, str]
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


def _changes(owner: ProcessOwner) -> list[str]:
    """What a snapshot's image says of itself.

    It names its maker. The engine makes an image first and names it then; in between, another
    process may look for the nameless images of dead ones.
    """
    labels = labels_of("snapshot", owner)
    # A line for each, and no quotes: Podman takes them for a part of the value.
    return [*(f"LABEL {name}={value}" for name, value in labels.items()), "ENTRYPOINT []", "CMD []"]


def _remove_image(engine: Engine, image: str) -> None:
    """Remove an image that lost its name; while a sandbox uses it, it is left to the reaper."""
    with suppress(SandboxError), engine.api("remove a snapshot that was replaced") as api:
        api.remove_image(image)


_LIBPOD_API = "v4.0.0/libpod"  # Podman 4.0 and all later ones
_CREATE_SECONDS = 60
_SETTLE_SECONDS = 300
_INCOMING = PurePosixPath("/workspace.incoming")
# Podman's archives say that all belongs to root.
_SETTLE = f'rm -rf "$1" && mv {_INCOMING} "$1" && chown -Rh {USER} "$1"'
_FEW = 1024


def make_podman_holder(
    api: DockerApi,
    name: str,
    image: str,
    *,
    labels: Mapping[str, str],
    place: PurePosixPath,
    files: Iterable[bytes],
) -> None:
    """A container that has a workspace, which comes as a tar stream, as a folder of its own.

    Podman notes in an image the volumes of the container which it was made from, and would give
    them to this one too; what is written into a volume does not become part of the next image.

    Raises:
        SandboxError: Podman refuses, or the workspace does not get there.
    """
    _create_podman_holder(api, name, image, place, labels)
    api.put_archive(name, "/", owned_folders((_INCOMING,), {}))
    api.put_archive(name, str(_INCOMING), files)
    api.start(name)
    code = api.wait(name, timeout=_SETTLE_SECONDS)["StatusCode"]
    if code != 0:
        raise SandboxError(f"the workspace of {image} could not be kept: exit code {code}")


def _create_podman_holder(
    api: DockerApi, name: str, image: str, place: PurePosixPath, labels: Mapping[str, str]
) -> None:
    wanted = {
        "name": name,
        "image": image,
        "image_volume_mode": "ignore",
        "entrypoint": ["/bin/sh", "-c", _SETTLE, "sh", str(place)],
        "command": [],
        "user": "0:0",
        "netns": {"nsmode": "none"},
        "cap_drop": ["all"],
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
        "no_new_privileges": True,
        "labels": dict(labels),
        "r_limits": [_limit("nofile"), _limit("nproc")],
    }
    url = f"{api.base_url}/{_LIBPOD_API}/containers/create"
    answer = api.post(url, json=wanted, timeout=_CREATE_SECONDS)
    if not answer.ok:
        raise SandboxError(f"cannot create a container of {image}: {answer.text.strip()}")


def _limit(kind: str) -> dict[str, object]:
    """One that Podman may surely set: its own default is more than root may have everywhere."""
    return {"type": kind, "soft": _FEW, "hard": _FEW}
