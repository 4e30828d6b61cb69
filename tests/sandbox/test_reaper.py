"""What a harness that was killed leaves behind, and how it goes."""

import signal
import subprocess
import sys
import time

import pytest

from agentbench.sandbox import reaper
from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine, NotThereError
from agentbench.sandbox.interface import ImageId
from tests.sandbox.conformance_base import LIMITS
from tests.sandbox.docker_fixtures import containers_in, engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

HARNESS = """
import sys
from datetime import timedelta
from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Limits
with DockerProvider.connect().open(ImageId(sys.argv[1]), limits=Limits(), network=False) as box:
    box.run(Command(
        argv=("sh", "-c", "echo up; sleep 1000"),
        timeout=timedelta(minutes=5),
        sink=lambda _stream, _data: print(box._container.name, flush=True),
    ))
"""


@pytest.fixture
def orphan(image: ImageId) -> str:
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
        _, said = harness.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    with pytest.raises(NotThereError):
        state_of(engine, name)


def state_of(engine: Engine, name: str) -> dict[str, object]:
    with engine.speak("look at the orphan") as api:
        found: dict[str, object] = api.inspect_container(name)
    return found


def test_what_a_dead_harness_left_ends_by_itself_and_is_removed(
    engine: Engine, orphan: str
) -> None:
    deadline = time.monotonic() + 30
    while (found := state_of(engine, orphan))["State"]["Running"]:  # type: ignore[index]
        assert time.monotonic() < deadline, "its keeper did not notice"
    volumes = {mount["Name"] for mount in found["Mounts"] if mount["Type"] == "volume"}  # type: ignore[attr-defined]
    (leftover,) = [item for item in reaper.find_leftovers(engine) if item.id == found["Id"]]
    assert (leftover.kind, leftover.owner_alive) == ("container", False)
    assert reaper.remove(engine, [leftover]) == 1
    assert found["Id"] not in {item.id for item in reaper.find_leftovers(engine)}
    with engine.speak("list volumes") as api:
        there = {volume["Name"] for volume in api.volumes()["Volumes"] or []}
    assert volumes
    assert not volumes & there


def test_what_is_in_use_is_left_alone_unless_asked(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=False):
        (mine,) = containers_in(engine)
        (leftover,) = [item for item in reaper.find_leftovers(engine) if item.id == mine]
        assert leftover.owner_alive
        assert reaper.remove(engine, [leftover]) == 0
        assert containers_in(engine) == [mine]
        assert reaper.remove(engine, [leftover], also_in_use=True) == 1
        assert containers_in(engine) == []


def test_a_volume_that_lost_its_container_is_found_and_removed(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=False):
        (mine,) = containers_in(engine)
        mounts = state_of(engine, mine)["Mounts"]
        with engine.speak("remove the container but not its volumes") as api:
            api.remove_container(mine, force=True)
    volumes = {mount["Name"] for mount in mounts}  # type: ignore[attr-defined]
    found = [item for item in reaper.find_leftovers(engine) if item.id in volumes]
    assert {item.kind for item in found} == {"volume"}
    assert len(found) == len(volumes) == 2
    reaper.remove(engine, found, also_in_use=True)
    assert not volumes & {item.id for item in reaper.find_leftovers(engine)}


def test_what_does_not_bear_our_label_is_never_listed(engine: Engine, image: ImageId) -> None:
    with engine.speak("make a stranger") as api:
        stranger = api.create_container(image, ["true"], labels={"other": "1"})["Id"]
        try:
            assert stranger not in {item.id for item in reaper.find_leftovers(engine)}
        finally:
            api.remove_container(stranger)
