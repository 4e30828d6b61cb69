"""Snapshots as images of the engine, and their exchange with a registry.

The engine connects to the registry, with this user's credentials from `docker login`.

A snapshot is one layer with the differences from the image or snapshot that its container started
from, the workspace included. So a container starts from it at once, regardless of the workspace's
size.
"""

import binascii
import threading
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.container import DockerContainer, remove_container
from agentbench.sandbox.docker.engine import (
    DockerApi,
    DockerNotFoundError,
    Engine,
    ImageFacts,
)
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.ownership import KIND, ProcessOwner, labels_of, without_owner

_NOTE: Final = "agentbench.note"
"""The label with the note of a shared snapshot, in base64."""
_FIRST_LINE_SECONDS = 20.0  # for the beginning of a registry's answer

_ProgressLine = Mapping[str, Any]  # the engine's JSON
SNAPSHOT_REPOSITORY: Final = "agentbench/snapshot"
"""The name of all snapshots; the tag is the key."""


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
    """Push a snapshot to a registry, with a note."""
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
    """Pull the snapshot with a name, and store it under a key; returns its note, if it exists."""
    try:
        pull_image(engine, name)
        labels = engine.image(name).labels
    except DockerNotFoundError:
        return None
    try:
        note = None
        if labels.get(KIND) == "snapshot":  # an image of another program has no note
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

    # In a thread that may outlive this call, since the SDK pulls without a time limit.
    threading.Thread(target=work, daemon=True).start()
    if not started.wait(_FIRST_LINE_SECONDS):
        raise SandboxError(f"cannot {doing}: no registry answered in {_FIRST_LINE_SECONDS:.0f} s")
    done.wait()
    if faults:
        raise faults[-1]


def save_snapshot(engine: Engine, container: DockerContainer, key: str) -> SnapshotId:
    """Store the environment and the workspace of a container under a key."""
    plan = container.plan
    if any(map(plan.workspace.is_relative_to, container.writable.volumes)):
        raise SandboxError(
            f"the workspace {plan.workspace} is on a volume, which a snapshot would omit; remove "
            "VOLUME from the image's Dockerfile"
        )
    replaced = find_snapshot(engine, key)
    # Its owner protects the image while it has no name yet: other processes remove nameless images
    # of dead owners.
    changes = commit_changes(labels_of("snapshot", plan.owner))
    with engine.api("save a snapshot", moves_files=True) as api:
        made = str(api.commit(container.name, pause=False, changes=changes)["Id"])
        try:
            api.tag(made, SNAPSHOT_REPOSITORY, key, force=True)
        except BaseException:
            with suppress(SandboxError), engine.api("remove an unfinished snapshot") as again:
                again.remove_image(made)
            raise
    if replaced is not None:  # an image in use stays, and is removed as an orphan later
        with suppress(SandboxError), engine.api("remove a replaced snapshot") as api:
            api.remove_image(replaced.id)
    return id_of(key)


def id_of(key: str) -> SnapshotId:
    """The id of the snapshot with a key, whether it exists or not."""
    return SnapshotId(f"{SNAPSHOT_REPOSITORY}:{key}")


def find_snapshot(engine: Engine, key: str) -> ImageFacts | None:
    """The image of the snapshot with a key."""
    with suppress(DockerNotFoundError):
        return engine.image(id_of(key))
    return None


def discard_snapshot(engine: Engine, snapshot: SnapshotId) -> None:
    """Remove a snapshot; a missing one is no error."""
    with suppress(DockerNotFoundError), engine.api(f"discard {snapshot}") as api:
        api.remove_image(snapshot, force=True)


def commit_changes(labels: Mapping[str, str]) -> list[str]:
    """The changes of a commit that sets labels and removes the program."""
    # One line per label and no quotes: Podman would make them part of the value.
    return [*(f"LABEL {name}={value}" for name, value in labels.items()), "ENTRYPOINT []", "CMD []"]
