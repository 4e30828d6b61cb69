"""What a harness that was killed leaves behind, and how it goes."""

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from agentbench.sandbox.docker import cleanup
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, SandboxUse
from agentbench.sandbox.ownership import ProcessOwner, labels_of
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import LIMITS
from tests.sandbox.docker_fixtures import containers_in, engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

HARNESS = """
import sys
from datetime import timedelta
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Limits
with DockerProvider.connect().open(ImageId(sys.argv[1]), limits=Limits(), network=False) as box:
    box.run(Command(
        argv=("sh", "-c", "echo up; sleep 1000"),
        timeout=timedelta(minutes=5),
        sink=lambda _stream, _data: print(box._container.name, flush=True),
    ))
"""


def make_orphan(image: ImageId) -> str:
    """The name of a container whose harness was killed while a command ran in it."""
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, image], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        name = harness.stdout.readline().strip()
        harness.send_signal(signal.SIGKILL)
    assert name
    return name


def test_ctrl_c_leaves_nothing(engine: Engine, image: ImageId) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, image],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as harness:
        assert harness.stdout is not None
        name = harness.stdout.readline().strip()
        harness.send_signal(signal.SIGINT)
        _, said = harness.communicate(timeout=HANG_SECONDS)
    assert "KeyboardInterrupt" in said
    with pytest.raises(DockerNotFoundError):
        state_of(engine, name)


def state_of(engine: Engine, name: str) -> dict[str, object]:
    with engine.api("look at the orphan") as api:
        found: dict[str, object] = api.inspect_container(name)
    return found


def test_what_a_dead_harness_left_ends_by_itself_and_is_removed(
    engine: Engine, image: ImageId
) -> None:
    for _ in range(5):
        with suppress(DockerNotFoundError):  # a run of another test began and removed it first
            ends_and_is_removed(engine, make_orphan(image))
            return
    pytest.fail("no orphan was left to look at")


def ends_and_is_removed(engine: Engine, orphan: str) -> None:
    """Look at an orphan until it is gone."""
    wait_until(lambda: not state_of(engine, orphan)["State"]["Running"])
    found = state_of(engine, orphan)
    volumes = {mount["Name"] for mount in found["Mounts"] if mount["Type"] == "volume"}  # type: ignore[attr-defined]
    listed = [item for item in cleanup.find_engine_orphans(engine) if item.id == found["Id"]]
    state_of(engine, orphan)
    (leftover,) = listed
    assert (leftover.kind, leftover.owner_alive) == ("container", False)
    assert cleanup.remove_engine_orphans(engine, [leftover]) == 1
    assert found["Id"] not in {item.id for item in cleanup.find_engine_orphans(engine)}
    with engine.api("list volumes") as api:
        there = {volume["Name"] for volume in api.volumes()["Volumes"] or []}
    assert volumes
    assert not volumes & there


def test_the_next_start_removes_what_is_dead_and_nothing_that_lives(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    living = [sys.executable, "-c", HARNESS, image]
    with (
        provider.open(image, limits=LIMITS, network=False),
        subprocess.Popen(living, stdout=subprocess.PIPE, text=True) as other,
    ):
        assert other.stdout is not None
        theirs = other.stdout.readline().strip()
        dead = [make_orphan(image), of_another_boot(engine, image)]
        cleanup.remove_dead_orphans(engine)
        for name in dead:
            with pytest.raises(DockerNotFoundError):
                state_of(engine, name)
        assert state_of(engine, theirs)
        assert len(containers_in(engine)) == 1
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=HANG_SECONDS)


def of_another_boot(engine: Engine, image: ImageId) -> str:
    """A container and a volume that this very process made, as it seems, before a reboot."""
    here = ProcessOwner.current()
    before = replace(here, boot=f"0{here.boot}")
    labels = labels_of("sandbox", before)
    with engine.api("make what a reboot left") as api:
        api.create_volume(f"agentbench-test-{uuid.uuid4().hex}", labels=labels)
        return str(api.create_container(image, ["true"], labels=labels)["Id"])


def test_what_counts_processes_anew_is_not_taken_for_dead(engine: Engine, image: ImageId) -> None:
    here = ProcessOwner.current()
    elsewhere = replace(here, boot=f"{here.boot}1", pid=2**22)
    labels = labels_of("sandbox", elsewhere)
    with engine.api("make a container of another namespace") as api:
        made = str(api.create_container(image, ["true"], labels=labels)["Id"])
    try:
        cleanup.remove_dead_orphans(engine)
        assert state_of(engine, made)
    finally:
        with engine.api("remove it") as api:
            api.remove_container(made)


class NotingEngine:
    """An engine that notes what it is asked for, and how."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self.asked: list[tuple[str, dict[str, object]]] = []

    @contextmanager
    def api(self, doing: str) -> Iterator["NotingEngine"]:
        with self._inner.api(doing) as self._api:
            yield self

    def __getattr__(self, name: str) -> object:
        def ask(*args: object, **options: object) -> object:
            self.asked.append((name, options))
            return getattr(self._api, name)(*args, **options)

        return ask


def test_to_find_the_dead_four_lists_are_asked_for_and_nothing_is_measured(engine: Engine) -> None:
    noting = NotingEngine(engine)
    cleanup.remove_dead_orphans(noting)
    asked = [name for name, _options in noting.asked if not name.startswith("remove_")]
    assert asked == ["containers", "networks", "volumes", "images"]
    assert not dict(noting.asked)["containers"]["size"]


def test_what_is_in_use_is_left_alone_unless_asked(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=False):
        (mine,) = containers_in(engine)
        (leftover,) = [item for item in cleanup.find_engine_orphans(engine) if item.id == mine]
        assert leftover.owner_alive
        assert cleanup.remove_engine_orphans(engine, [leftover]) == 0
        assert containers_in(engine) == [mine]
        assert cleanup.remove_engine_orphans(engine, [leftover], also_in_use=True) == 1
        assert containers_in(engine) == []


@pytest.mark.parametrize("plain", [False, True])
def test_a_volume_that_lost_its_container_is_found_and_removed(
    provider: DockerProvider, engine: Engine, image: ImageId, plain: bool
) -> None:
    with provider.open(image, limits=LIMITS, network=False, use=SandboxUse(plain_workspace=plain)):
        (mine,) = containers_in(engine)
        mounts = state_of(engine, mine)["Mounts"]
        with engine.api("remove the container but not its volumes") as api:
            api.remove_container(mine, force=True)
    volumes = {mount["Name"] for mount in mounts if mount["Type"] == "volume"}  # type: ignore[attr-defined]
    found = [item for item in cleanup.find_engine_orphans(engine) if item.id in volumes]
    assert {item.kind for item in found} == {"volume"}
    assert len(found) == len(volumes) == (2 if plain else 1)
    cleanup.remove_engine_orphans(engine, found, also_in_use=True)
    assert not volumes & {item.id for item in cleanup.find_engine_orphans(engine)}


def test_what_does_not_bear_our_label_is_never_listed(engine: Engine, image: ImageId) -> None:
    with engine.api("make a stranger") as api:
        stranger = api.create_container(image, ["true"], labels={"other": "1"})["Id"]
        try:
            assert stranger not in {item.id for item in cleanup.find_engine_orphans(engine)}
        finally:
            api.remove_container(stranger)
