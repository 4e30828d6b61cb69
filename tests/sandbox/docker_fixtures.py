"""What all tests of the Docker back end start from: an engine, and a base image of our own make."""

import io
import ipaddress
import re
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider
from agentbench.sandbox.ownership import ProcessOwner, labels_of

PROGRAMS = ("sh", "cat", "head", "id", "ls", "mkdir", "rm", "sleep", "touch")


def root_file_system() -> bytes:
    """A tar of this machine's shell and programs with the libraries that they need."""
    buffer = io.BytesIO()
    added: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        for program in PROGRAMS:
            path = shutil.which(program)
            assert path is not None
            _add(tar, path, f"bin/{program}", added)
            listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
            for library in re.findall(r"(/\S+) \(0x", listed.stdout):
                _add(tar, library, library.lstrip("/"), added)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, source: str, name: str, added: set[str]) -> None:
    if name not in added:
        added.add(name)
        tar.add(Path(source).resolve(), arcname=name)


@pytest.fixture(scope="session")
def engine() -> Engine:
    try:
        return Engine.connect()
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def image(engine: Engine) -> ImageId:
    return images.build_base_image(engine).id


@pytest.fixture(scope="session")
def provider(engine: Engine) -> DockerProvider:
    return DockerProvider(engine)


@pytest.fixture(scope="module", name="image")
def image_of_provider(provider: DockerProvider) -> ImageId:
    return provider.resolve_image(None)


@pytest.fixture(scope="module")
def gaps() -> frozenset[Promise]:
    return frozenset()


@pytest.fixture(scope="module")
def reconnect() -> Callable[[], SandboxProvider]:
    return DockerProvider.connect


@pytest.fixture(scope="module")
def leftovers(engine: Engine) -> Callable[[], frozenset[str]]:
    return lambda: left_in(engine)


@pytest.fixture(scope="module")
def reachable_host(engine: Engine) -> str:
    return bridge_of(engine)


def left_in(engine: Engine) -> frozenset[str]:
    """The containers, networks and volumes of this process that an engine has now."""
    with engine.api("look for leftovers") as api:
        networks = api.networks(filters=of_this_process())
        volumes = api.volumes(filters=of_this_process())["Volumes"] or []
    named = [each["Name"] for each in (*networks, *volumes)]
    return frozenset([*containers_in(engine), *named])


def bridge_of(engine: Engine) -> str:
    """The address by which containers with a network reach the engine's machine."""
    with engine.api("find the bridge") as api:
        network = api.inspect_network("bridge")
    return str(ipaddress.ip_network(network["IPAM"]["Config"][0]["Subnet"])[1])


def containers_in(engine: Engine) -> list[str]:
    """The containers of this process that an engine has now, running or not."""
    with engine.api("look for containers") as api:
        return [found["Id"] for found in api.containers(all=True, filters=of_this_process())]


def of_this_process(kind: str = "sandbox") -> dict[str, list[str]]:
    """The filter of the engine for things of a kind that this process owns."""
    owned = labels_of(kind, ProcessOwner.current())
    return {"label": [f"{name}={value}" for name, value in owned.items()]}


@pytest.fixture(scope="session")
def foreign_image(engine: Engine) -> Iterator[str]:
    """The name of an image without Python, git, users or anything else of ours."""
    name = f"agentbench-test/foreign-{uuid.uuid4().hex[:8]}"
    import_image(engine, name)
    yield name
    with engine.api("remove the foreign image") as api:
        api.remove_image(name)


def import_image(engine: Engine, name: str) -> None:
    """Make an image of the smallest root file system."""
    with engine.api("import the foreign image") as api:
        api.import_image_from_data(root_file_system(), repository=name)


def copy_image(source: Engine, name: str, target: Engine) -> None:
    """Have an image of one engine in another one, too."""
    with (
        source.api(f"read {name}", moves_files=True) as reading,
        target.api(f"load {name}", moves_files=True) as writing,
    ):
        for line in writing.load_image(reading.get_image(name, chunk_size=1 << 20)):
            assert "error" not in line, line
