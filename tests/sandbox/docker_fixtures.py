"""What all tests of the Docker back end start from: an engine, and a base image of our own make."""

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox import images
from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.docker_labels import Owner, labels_of
from agentbench.sandbox.interface import ImageId


@pytest.fixture(scope="session")
def engine() -> Engine:
    try:
        return Engine.connect()
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def image(engine: Engine) -> ImageId:
    return images.build(engine).id


@pytest.fixture(scope="session")
def provider(engine: Engine) -> DockerProvider:
    return DockerProvider(engine)


def left_in(engine: Engine) -> frozenset[str]:
    """The containers and volumes of this process that an engine has now."""
    owned = labels_of("sandbox", Owner.current())
    ours = {"label": [f"{name}={value}" for name, value in owned.items()]}
    with engine.speak("look for leftovers") as api:
        containers = api.containers(all=True, filters=ours)
        volumes = api.volumes(filters=ours)["Volumes"] or []
    return frozenset([c["Id"] for c in containers] + [v["Name"] for v in volumes])
