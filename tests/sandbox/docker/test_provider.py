"""The Docker back end: the conformance suite, and what only containers can get wrong."""

from collections.abc import Callable

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Promise, SandboxProvider
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.docker_fixtures import bridge_of, engine, image, left_in, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker


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


class TestDockerConformance(SandboxConformance):
    """All that is asked of any sandbox."""
