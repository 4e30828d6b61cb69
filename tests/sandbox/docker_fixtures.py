"""What all tests of the Docker back end start from: an engine, and a base image of our own make."""

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox import images
from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine
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
