"""An engine's dealings with an image registry.

Pulls images, pushes and pulls snapshots; waits end although the registry does not answer.

The engine speaks with it, with the credentials that `docker login` left with this user.
"""

import binascii
import threading
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.container import remove_container
from agentbench.sandbox.docker.engine import DockerApi, DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import SNAPSHOT_REPOSITORY
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.ownership import KIND, ProcessOwner, labels_of, without_owner

_NOTE: Final = "agentbench.note"
"""The label of what goes with a shared snapshot, in base64."""
_FIRST_WORD_SECONDS = 20.0  # for a registry to begin to answer

_ProgressLine = Mapping[str, Any]  # a line of the engine's progress


def pull_image(engine: Engine, name: str) -> None:
    """Get an image from a registry that begins to answer soon.

    Raises:
        DockerNotFoundError: the registry has not got it.
        SandboxError: it does not answer, or refuses.
    """
    _follow_progress(engine, f"pull {name}", lambda api: api.pull(name, stream=True, decode=True))


def push_snapshot(
    engine: Engine, snapshot: SnapshotId, name: str, note: bytes, owner: ProcessOwner
) -> None:
    """Put a snapshot into a registry, with a note.

    Raises:
        SandboxError: the registry does not take it or does not answer, or the engine is lost.
    """
    repository, _, tag = name.rpartition(":")
    holder = f"agentbench-{uuid.uuid4().hex}"
    labels = {_NOTE: b64encode(note).decode(), **labels_of("snapshot"), **without_owner()}
    with engine.api(f"note on {snapshot}", moves_files=True) as api:
        api.create_container(
            snapshot, ["true"], name=holder, labels=labels_of("sandbox", owner),
            network_disabled=True, host_config={"NetworkMode": "none"},
        )  # fmt: skip
        try:
            changes = [f"LABEL {word}={value}" for word, value in labels.items()]
            api.commit(holder, repository, tag, changes=[*changes, "ENTRYPOINT []", "CMD []"])
        finally:
            remove_container(engine, holder)
    try:
        _follow_progress(
            engine,
            f"push {name}",
            lambda api: api.push(repository, tag, stream=True, decode=True),
        )
    finally:
        _forget_name(engine, name)


def pull_snapshot(engine: Engine, name: str, key: str) -> bytes | None:
    """Have the snapshot of a name under a key, and its note; None if there is none.

    Raises:
        SandboxError: the registry does not answer or refuses, or the engine is lost.
    """
    try:
        pull_image(engine, name)
        labels = engine.image(name).labels
    except DockerNotFoundError:
        return None
    try:
        note = _note(labels)
        if note is not None:
            with engine.api(f"keep {name}") as api:
                api.tag(name, SNAPSHOT_REPOSITORY, key)
    finally:
        _forget_name(engine, name)
    return note


def _note(labels: Mapping[str, str]) -> bytes | None:
    """What a snapshot of ours bears, and no other image."""
    if labels.get(KIND) != "snapshot" or _NOTE not in labels:
        return None
    with suppress(binascii.Error, ValueError):
        return b64decode(labels[_NOTE], validate=True)
    return None


def _forget_name(engine: Engine, name: str) -> None:
    """The layers stay as long as another name needs them."""
    with suppress(SandboxError), engine.api(f"forget {name}") as api:
        api.remove_image(name)


def _follow_progress(
    engine: Engine, doing: str, call: Callable[[DockerApi], Iterable[_ProgressLine]]
) -> None:
    heard, done = threading.Event(), threading.Event()
    faults: list[SandboxError] = []

    def work() -> None:
        try:
            with engine.api(doing, moves_files=True) as api:
                for line in call(api):
                    heard.set()
                    if "error" in line:
                        faults.append(SandboxError(f"cannot {doing}: {line['error']}"))
        except SandboxError as fault:
            faults.append(fault)
        finally:
            heard.set()
            done.set()

    # In a thread that may be left behind: the SDK pulls without any time-out.
    threading.Thread(target=work, daemon=True).start()
    if not heard.wait(_FIRST_WORD_SECONDS):
        raise SandboxError(f"cannot {doing}: no registry answered in {_FIRST_WORD_SECONDS:.0f} s")
    done.wait()
    if faults:
        raise faults[-1]
