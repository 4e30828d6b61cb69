"""What a container is made of, as the engine then has it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentbench.sandbox.docker.container import (
    ContainerPlan,
    create_container,
    mount_paths,
    readable_inside,
)
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import Limits, ReadOnlyMount, SandboxUse
from agentbench.sandbox.ownership import ProcessOwner
from tests.sandbox.docker_fixtures import engine, foreign_image

__all__ = ["engine", "foreign_image"]

Created = Callable[..., dict[str, Any]]


@pytest.fixture
def created(engine: Engine, foreign_image: str) -> Iterator[Created]:
    """Creates a container that is never started and tells what the engine has of it."""
    made: list[str] = []

    def create(**changes: Any) -> dict[str, Any]:
        parts = {"image": foreign_image, "image_env": (), "limits": Limits(), **changes}
        with engine.api("create a container") as api:
            plan = ContainerPlan(owner=ProcessOwner.current(), **parts)
            made.append(create_container(api, f"agentbench-test-{os.getpid()}", plan, cpus=2))
            found: dict[str, Any] = api.inspect_container(made[-1])
        return found

    yield create
    for container in made:
        with engine.api("remove it") as api:
            api.remove_container(container, v=True)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("image_path", "path"),
    [
        ("/x:/y", "/opt/venv/bin:/x:/y"),
        ("/opt/venv/bin:/x", "/opt/venv/bin:/x"),
    ],
)
def test_the_virtual_environment_comes_first_on_the_images_path(
    created: Created, image_path: str, path: str
) -> None:
    env = created(image_env=(f"PATH={image_path}",))["Config"]["Env"]
    assert f"PATH={path}" in env


@pytest.mark.docker
def test_an_image_without_a_path_gets_the_usual_one(created: Created) -> None:
    (path,) = [item for item in created()["Config"]["Env"] if item.startswith("PATH=")]
    assert path.endswith("/usr/sbin:/usr/bin:/sbin:/bin")


@pytest.mark.docker
def test_more_processors_than_there_are_mean_all(created: Created) -> None:
    assert created(limits=Limits(cpus=64))["HostConfig"]["NanoCpus"] == 2_000_000_000


@pytest.mark.docker
def test_open_files_are_limited_for_good(created: Created) -> None:
    ulimits = created(limits=Limits(open_files=99))["HostConfig"]["Ulimits"]
    assert {"Name": "nofile", "Soft": 99, "Hard": 99} in ulimits


@pytest.mark.docker
def test_settings_for_commands_are_not_the_containers(created: Created) -> None:
    assert "PIP_INDEX_URL=x" not in created(env={"PIP_INDEX_URL": "x"})["Config"]["Env"]


@pytest.mark.docker
def test_mounts_are_read_only_and_everything_is_labelled(
    created: Created, engine: Engine, tmp_path: Path
) -> None:
    mount = ReadOnlyMount(name="tools", source=tmp_path)
    found = created(bound=(mount,), network=True, use=SandboxUse(plain_workspace=True))
    (bind,) = [item for item in found["HostConfig"]["Mounts"] if item["Type"] == "bind"]
    assert (bind["Target"], bind["ReadOnly"]) == ("/agentbench/tools", True)
    assert found["HostConfig"]["NetworkMode"] == "bridge"
    volumes = [item["Name"] for item in found["Mounts"] if item["Type"] == "volume"]
    with engine.api("look at the volumes") as api:
        labels = [api.inspect_volume(name)["Labels"] for name in volumes]
    assert len(labels) == 2
    owners = {ProcessOwner.from_labels(each) for each in [*labels, found["Config"]["Labels"]]}
    assert owners == {ProcessOwner.current()}


@pytest.mark.parametrize(
    ("mode", "readable"), [(0o755, True), (0o750, False), (0o744, False), (0o700, False)]
)
def test_a_folder_must_be_open_to_others(tmp_path: Path, mode: int, readable: bool) -> None:
    tmp_path.chmod(mode)
    expected = readable or tmp_path.stat().st_uid == 1000
    assert readable_inside(ReadOnlyMount(name="x", source=tmp_path)) is expected


def test_mounts_lie_in_a_folder_of_ours(tmp_path: Path) -> None:
    places = mount_paths([ReadOnlyMount(name="a", source=tmp_path)])
    assert {name: str(place) for name, place in places.items()} == {"a": "/agentbench/a"}


@pytest.mark.docker
def test_swap_adds_nothing_to_the_memory_of_a_container(created: Created) -> None:
    limits = created(limits=Limits(memory_mib=64))["HostConfig"]
    assert limits["Memory"] == 64 * 1024 * 1024
    assert limits["MemorySwap"] == limits["Memory"]  # of both together
