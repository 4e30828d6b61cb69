"""Snapshots as images of the engine, and their exchange with a registry.

The engine connects to the registry, with this user's credentials from `docker login`.

The workspace is a volume, which a commit omits. So it is copied to the image's own workspace, from
which the engine fills the new volume of every container. This is faster than a tar at each opening
(20 MB in 2,000 files: 0.7 s against 1.2 s), and also works with a remote engine.
"""

import binascii
import threading
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from agentbench.errors import SandboxError
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
from agentbench.sandbox.ownership import KIND, ProcessOwner, labels_of, without_owner

_NOTE: Final = "agentbench.note"
"""The label with the note of a shared snapshot, in base64."""
_FIRST_LINE_SECONDS = 20.0  # for the begin of a registry's answer

_ProgressLine = Mapping[str, Any]  # the engine's JSON
SNAPSHOT_REPOSITORY: Final = "agentbench/snapshot"
"""The name of all snapshots; the tag is the key."""
_WIPE = f'rm -rf "$1" && mkdir "$1" && chown {USER} "$1"'
_WIPE_SECONDS = 120
_LIBPOD_API = "v4.0.0/libpod"  # Podman 4.0 and all later ones
_CREATE_SECONDS = 60
_SETTLE_SECONDS = 300
_INCOMING = PurePosixPath("/workspace.incoming")
# In Podman's archives everything belongs to root.
_SETTLE = f'rm -rf "$1" && mv {_INCOMING} "$1" && chown -Rh {USER} "$1"'
_FEW = 1024


def pull_image(engine: Engine, name: str) -> None:
    """Pull an image from a registry that starts to answer soon.

    Raises:
        DockerNotFoundError: the registry does not have it.
        SandboxError: the registry refuses or does not answer.
    """
    _follow_progress(engine, f"pull {name}", lambda api: api.pull(name, stream=True, decode=True))


def push_snapshot(
    engine: Engine, snapshot: SnapshotId, name: str, note: bytes, owner: ProcessOwner
) -> None:
    """Push a snapshot to a registry, with a note.

    Raises:
        SandboxError: the registry refuses or does not answer.
    """
    repository, _, tag = name.rpartition(":")
    holder = f"agentbench-{uuid.uuid4().hex}"
    labels = {_NOTE: b64encode(note).decode(), **labels_of("snapshot"), **without_owner()}
    with engine.api(f"add a note to {snapshot}", moves_files=True) as api:
        api.create_container(
            snapshot, ["true"], name=holder, labels=labels_of("sandbox", owner),
            network_disabled=True, host_config={"NetworkMode": "none"},
        )  # fmt: skip
        try:
            api.commit(holder, repository, tag, changes=commit_changes(labels))
        finally:
            remove_container(engine, holder)
    try:
        _follow_progress(
            engine, f"push {name}", lambda api: api.push(repository, tag, stream=True, decode=True)
        )
    finally:
        _forget_name(engine, name)


def pull_snapshot(engine: Engine, name: str, key: str) -> bytes | None:
    """Pull the snapshot with a name, and store it under a key; returns its note, if it exists.

    Raises:
        SandboxError: the registry refuses or does not answer.
    """
    try:
        pull_image(engine, name)
        labels = engine.image(name).labels
    except DockerNotFoundError:
        return None
    try:
        note = None
        if labels.get(KIND) == "snapshot":  # an image of others has no note
            with suppress(binascii.Error, ValueError, KeyError):
                note = b64decode(labels[_NOTE], validate=True)
        if note is not None:
            with engine.api(f"name {name}") as api:
                api.tag(name, SNAPSHOT_REPOSITORY, key)
    finally:
        _forget_name(engine, name)
    return note


def _forget_name(engine: Engine, name: str) -> None:
    """Remove a name; the layers stay as long as another name needs them."""
    with suppress(SandboxError), engine.api(f"forget {name}") as api:
        api.remove_image(name)


def _follow_progress(
    engine: Engine, doing: str, call: Callable[[DockerApi], Iterable[_ProgressLine]]
) -> None:
    started, done = threading.Event(), threading.Event()
    faults: list[SandboxError] = []

    def work() -> None:
        """Read the progress to its end."""
        try:
            with engine.api(doing, moves_files=True) as api:
                for line in call(api):
                    started.set()
                    if "error" in line:
                        faults.append(SandboxError(f"cannot {doing}: {line['error']}"))
        except SandboxError as fault:
            faults.append(fault)
        finally:
            started.set()
            done.set()

    # In a thread that may outlive this call: the SDK pulls without a time-out.
    threading.Thread(target=work, daemon=True).start()
    if not started.wait(_FIRST_LINE_SECONDS):
        raise SandboxError(f"cannot {doing}: no registry answered in {_FIRST_LINE_SECONDS:.0f} s")
    done.wait()
    if faults:
        raise faults[-1]


def save_snapshot(engine: Engine, container: DockerContainer, key: str) -> SnapshotId:
    """Store the environment and the workspace of a container under a key."""
    replaced = find_snapshot(engine, key)
    holder = f"agentbench-{uuid.uuid4().hex}"
    with engine.api("save the environment", moves_files=True) as api:
        environment = str(api.commit(container.name, pause=False)["Id"])
    try:
        with engine.api("save the workspace", moves_files=True) as api:
            _fill_holder(engine, api, holder, environment, origin=container)
            # Its owner protects the image while it has no name yet: other processes remove
            # nameless images of dead owners.
            changes = commit_changes(labels_of("snapshot", container.plan.owner))
            api.commit(holder, SNAPSHOT_REPOSITORY, key, pause=False, changes=changes)
    except BaseException:
        with suppress(SandboxError), engine.api("remove an unfinished snapshot") as api:
            remove_container(engine, holder)
            api.remove_image(environment)
        raise
    remove_container(engine, holder)
    if replaced is not None:  # an image in use stays, and is removed as an orphan later
        with suppress(SandboxError), engine.api("remove a replaced snapshot") as api:
            api.remove_image(replaced.facts.id)
    return SnapshotId(f"{SNAPSHOT_REPOSITORY}:{key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotImage:
    """An existing snapshot and its image."""

    id: SnapshotId
    facts: ImageFacts


def find_snapshot(engine: Engine, key: str) -> SnapshotImage | None:
    """The snapshot with a key."""
    name = SnapshotId(f"{SNAPSHOT_REPOSITORY}:{key}")
    with suppress(DockerNotFoundError):
        return SnapshotImage(id=name, facts=engine.image(name))
    return None


def discard_snapshot(engine: Engine, snapshot: SnapshotId) -> None:
    """Remove a snapshot; a missing one is no error."""
    with suppress(DockerNotFoundError), engine.api(f"discard {snapshot}") as api:
        api.remove_image(snapshot, force=True)


def _fill_holder(
    engine: Engine, api: DockerApi, holder: str, image: str, origin: DockerContainer
) -> None:
    """Create a container whose own file system contains the workspace of another one."""
    labels = labels_of("sandbox", origin.plan.owner)
    workspace = origin.plan.workspace
    stream, _ = api.get_archive(origin.name, f"{workspace}/.", chunk_size=1 << 20)
    with closing(stream):
        if engine.facts.product is EngineProduct.PODMAN:
            _fill_podman_holder(api, holder, image, labels=labels, folder=workspace, files=stream)
            return
        api.create_container(
            image,
            name=holder,
            user="0:0",
            entrypoint=["/bin/sh", "-c", _WIPE, "sh", str(workspace)],
            command=[],
            network_disabled=True,
            labels=labels,
            host_config={
                "NetworkMode": "none",
                "CapDrop": ["ALL"],
                # To remove the user's files, and to give the empty folder to the user.
                "CapAdd": ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
                "SecurityOpt": ["no-new-privileges"],
                "LogConfig": {"Type": "none"},
            },
        )
        if origin.plan.holds_workspace:
            api.start(holder)
            api.wait(holder, timeout=_WIPE_SECONDS)
        api.put_archive(holder, str(workspace), stream)


def commit_changes(labels: Mapping[str, str]) -> list[str]:
    """The changes of a commit that sets labels and removes the program."""
    # One line per label and no quotes: Podman would make them part of the value.
    return [*(f"LABEL {name}={value}" for name, value in labels.items()), "ENTRYPOINT []", "CMD []"]


def _fill_podman_holder(
    api: DockerApi,
    name: str,
    image: str,
    *,
    labels: Mapping[str, str],
    folder: PurePosixPath,
    files: Iterable[bytes],
) -> None:
    """Create a container without volumes, and fill its workspace from a tar stream.

    Podman's Docker API cannot create it: an image there declares the volumes of its container, and
    the content of a volume does not become part of the next image.

    Raises:
        SandboxError: Podman refuses, or the workspace cannot be copied.
    """
    limits = [{"type": kind, "soft": _FEW, "hard": _FEW} for kind in ("nofile", "nproc")]
    request = {
        "name": name,
        "image": image,
        "image_volume_mode": "ignore",
        "entrypoint": ["/bin/sh", "-c", _SETTLE, "sh", str(folder)],
        "command": [],
        "user": "0:0",
        "netns": {"nsmode": "none"},
        "cap_drop": ["all"],
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
        "no_new_privileges": True,
        "labels": dict(labels),
        "r_limits": limits,  # Podman's defaults may exceed those of root
    }
    url = f"{api.base_url}/{_LIBPOD_API}/containers/create"
    answer = api.post(url, json=request, timeout=_CREATE_SECONDS)
    if not answer.ok:
        raise SandboxError(f"cannot create a container of {image}: {answer.text.strip()}")
    api.put_archive(name, "/", owned_folders((_INCOMING,), {}))
    api.put_archive(name, str(_INCOMING), files)
    api.start(name)
    code = api.wait(name, timeout=_SETTLE_SECONDS)["StatusCode"]
    if code != 0:
        raise SandboxError(f"cannot save the workspace of {image}: exit code {code}")
