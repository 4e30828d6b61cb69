"""The Docker back end: the conformance suite."""

from collections.abc import Callable

import pytest

from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.interface import Promise, SandboxProvider
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker


class TestDockerConformance(SandboxConformance):
    @pytest.fixture(scope="class")
    def gaps(self) -> frozenset[Promise]:
        return frozenset()

    @pytest.fixture(scope="class")
    def reconnect(self) -> Callable[[], SandboxProvider]:
        return DockerProvider.connect

    @pytest.fixture(scope="class")
    def leftovers(self, engine: Engine) -> Callable[[], frozenset[str]]:
        def look() -> frozenset[str]:
            with engine.speak("look for leftovers") as api:
                ours = {"label": "agentbench"}
                containers = api.containers(all=True, filters=ours)
                volumes = api.volumes(filters=ours)["Volumes"] or []
            return frozenset([c["Id"] for c in containers] + [v["Name"] for v in volumes])

        return look

    @pytest.fixture(scope="class")
    def reachable_host(self, engine: Engine) -> str | None:
        with engine.speak("find the bridge") as api:
            network = api.inspect_network("bridge")
        return str(network["IPAM"]["Config"][0]["Gateway"])
