"""What a container is made of, as the engine then has it."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.container import (
    ContainerPlan,
    DockerContainer,
    create_container,
    remove_container,
)
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Limits, ReadOnlyMount, SandboxUse
from agentbench.sandbox.ownership import ProcessOwner
from agentbench.scoring.evidence import CommandResult, Ending
from tests.patience import HANG_SECONDS, wait_until, with_growing_limit
from tests.sandbox.conformance_base import LIMITS, PATIENCE, python, sh
from tests.sandbox.docker_fixtures import (
    containers_in,
    engine,
    foreign_image,
    image,
    left_in,
    provider,
)

__all__ = ["engine", "foreign_image", "image", "provider"]

pytestmark = pytest.mark.docker

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


@pytest.mark.parametrize(
    ("image_path", "path"),
    [
        ("/x:/y", "/opt/venv/bin:/x:/y"),
        ("/opt/venv/bin:/x", "/opt/venv/bin:/x"),
    ],
)
def test_virtual_environment_is_first_on_the_path(
    created: Created, image_path: str, path: str
) -> None:
    env = created(image_env=(f"PATH={image_path}",))["Config"]["Env"]
    assert f"PATH={path}" in env


def test_image_without_a_path_gets_the_default_path(created: Created) -> None:
    (path,) = [item for item in created()["Config"]["Env"] if item.startswith("PATH=")]
    assert path.endswith("/usr/sbin:/usr/bin:/sbin:/bin")


def test_limits_are_those_of_the_engine(created: Created) -> None:
    limits = Limits(cpus=64, open_files=99, memory_mib=64)
    found = created(limits=limits)["HostConfig"]
    assert found["NanoCpus"] == 2_000_000_000  # more processors than there are mean all
    assert {"Name": "nofile", "Soft": 99, "Hard": 99} in found["Ulimits"]
    assert found["Memory"] == 64 << 20
    assert found["MemorySwap"] == found["Memory"]  # of both together


def test_variables_of_commands_are_not_those_of_the_container(created: Created) -> None:
    assert "PIP_INDEX_URL=x" not in created(env={"PIP_INDEX_URL": "x"})["Config"]["Env"]


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


def test_a_container_that_is_killed_from_outside_is_an_error_of_the_sandbox(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    def meddle(_stream: object, _data: bytes) -> None:
        with engine.api("kill from outside") as api:
            api.kill(containers_in(engine)[0])

    argv = ("sh", "-c", "echo up; sleep 1000")
    command = Command(argv=argv, timeout=PATIENCE, sink=meddle)
    with (
        provider.open(image, limits=LIMITS, network=False) as sandbox,
        pytest.raises(SandboxError, match="another program ended"),
    ):
        sandbox.run(command)
    assert left_in(engine) == frozenset()


def is_frozen(engine: Engine) -> bool:
    """Freeze the container from outside; a busy engine does not always manage that at once."""
    try:
        with engine.api("freeze from outside") as api:
            api.pause(containers_in(engine)[0])
    except SandboxError:
        return False
    return True


def test_unresponsive_container_is_restarted(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    frozen = []

    def meddle(_stream: object, data: bytes) -> None:
        if data != b"up\n":  # what its shell says of its end
            return
        wait_until(lambda: is_frozen(engine))
        frozen.append(True)

    argv = ("sh", "-c", "echo kept > file; echo up; sleep 1000")
    with provider.open(image, limits=LIMITS, network=False) as sandbox:

        def run(seconds: float) -> CommandResult:
            limit = timedelta(seconds=seconds)
            return sandbox.run(Command(argv=argv, timeout=limit, sink=meddle))

        result = with_growing_limit(run, lambda _result: frozen)
        assert result.ending is Ending.TIMED_OUT
        assert sh(sandbox, "cat file").stdout == "kept\n"


def is_running(engine: Engine) -> bool:
    (name,) = containers_in(engine)
    with engine.api("look") as api:
        return bool(api.inspect_container(name)["State"]["Running"])


def test_idle_container_is_not_killed_before_its_removal(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "echo kept > file; setsid sleep 1000 & exit 0").ok
        sandbox.kill()
        assert is_running(engine)
        with pytest.raises(SandboxError, match="was killed"):
            sh(sandbox, "true")
        with sandbox.read_tree(sandbox.workspace) as chunks:
            assert b"kept" in b"".join(chunks)
    assert left_in(engine) == frozenset()


def test_a_command_that_runs_is_killed_with_its_container(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    up = Event()

    def note(_stream: object, _data: bytes) -> None:
        up.set()

    command = Command(argv=("sh", "-c", "echo up; sleep 1000"), timeout=PATIENCE, sink=note)
    with (
        ThreadPoolExecutor(1) as pool,
        provider.open(image, limits=LIMITS, network=False) as sandbox,
    ):
        running = pool.submit(sandbox.run, command)
        assert up.wait(HANG_SECONDS)
        sandbox.kill()
        assert not is_running(engine)
        with pytest.raises(SandboxError):
            running.result()


def test_removal_of_a_missing_container_does_nothing(engine: Engine) -> None:
    remove_container(engine, "agentbench-never-made")


def test_container_that_cannot_start_is_removed(provider: DockerProvider, engine: Engine) -> None:
    with engine.api("make an image without a shell") as api:
        made = api.import_image_from_data(b"\0" * 10240, repository="agentbench-test/empty")
        assert made
    try:
        with (
            pytest.raises(SandboxError, match="needs a shell"),
            provider.open(ImageId("agentbench-test/empty"), limits=LIMITS, network=False),
        ):
            pass
    finally:
        with engine.api("remove it") as api:
            api.remove_image("agentbench-test/empty")
    assert left_in(engine) == frozenset()


def test_container_has_the_requested_isolation(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with (
        provider.open(image, limits=LIMITS, network=False),
        engine.api("look at the container") as api,
    ):
        config = api.inspect_container(containers_in(engine)[0])["HostConfig"]
    assert config["CapDrop"] == ["ALL"]
    assert config["CapAdd"] in (["KILL"], ["CAP_KILL"])
    assert config["NetworkMode"] == "none"
    assert not config["Privileged"]
    assert not config["Binds"]
    assert config["Memory"] == config["MemorySwap"] == LIMITS.memory_mib << 20
    assert config["PidsLimit"] == LIMITS.pids + 3


NAMES_AND_ADDRESSES = """
import os, pathlib, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(("localhost", server.getsockname()[1]), timeout=5).close()
print(sorted(os.listdir("/sys/class/net")))
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(error.strerror)
try:
    socket.getaddrinfo("example.org", 80)
except socket.gaierror as error:
    print(error.strerror)
print(pathlib.Path("/etc/resolv.conf").read_text().split()[0], socket.gethostname())
"""


def leaves_network_out(engine: Engine) -> bool:
    """Whether the engine set up no network for its only container."""
    with engine.api("see how a container was created") as api:
        settings = api.inspect_container(containers_in(engine)[0])["Config"]
        return bool(settings.get("NetworkDisabled"))


def test_a_container_without_a_network_has_a_loopback_interface_and_nothing_else(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        assert leaves_network_out(engine)
        shown = python(sandbox, NAMES_AND_ADDRESSES)
        assert shown.stdout.splitlines() == [
            "['lo']",
            "Network is unreachable",
            "Temporary failure in name resolution",
            "nameserver sandbox",
        ], shown.stderr


def test_a_container_with_a_network_gets_it_from_the_engine(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    with provider.open(image, limits=LIMITS, network=True):
        assert not leaves_network_out(engine)


def test_missing_loopback_interface_leaves_the_network_to_the_engine(
    provider: DockerProvider,
    engine: Engine,
    image: ImageId,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No runtime here is like that, so the answer of the first container is changed.
    answers: list[bool] = []

    def has_loopback(_container: DockerContainer) -> bool:
        answers.append(leaves_network_out(engine))
        return False

    monkeypatch.setattr(DockerContainer, "has_loopback", property(has_loopback))
    for _ in range(2):
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            assert not leaves_network_out(engine)
            assert python(sandbox, NAMES_AND_ADDRESSES).stdout.startswith("['lo']\nNetwork is")
    assert answers == [True]  # it is remembered
    assert left_in(engine) == frozenset()
