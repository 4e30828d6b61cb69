"""Podman by its Docker-compatible socket: whole attempts, and what Podman cannot do.

The gate makes the attempts; the soak runs the whole conformance suite, too.
"""

from collections.abc import Callable

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Promise, SandboxProvider
from tests.e2e.engine_attempts import EngineAttempts
from tests.sandbox.conformance import IncompleteConformance
from tests.sandbox.docker_fixtures import gaps, image_of_provider, leftovers
from tests.sandbox.podman_service import PodmanService
from tests.sandbox.private_engines import podman, podman_engine

__all__ = ["gaps", "image_of_provider", "leftovers", "podman", "podman_engine"]

pytestmark = pytest.mark.docker

CANNOT = {
    "test_no_capability_comes_with_a_new_user_namespace": (
        "Podman's seccomp profile lets anybody make a user namespace, and by its socket it "
        "takes no other profile than a file of its own machine"
    ),
}


class _Boasting(DockerProvider):
    """Promises what it does not keep, so that no test of it is skipped."""

    @property
    def promises(self) -> frozenset[Promise]:
        return frozenset(Promise)


@pytest.fixture(scope="module")
def provider(engine: Engine) -> DockerProvider:
    return _Boasting(engine)


@pytest.fixture(scope="module")
def reconnect(podman: PodmanService) -> Callable[[], SandboxProvider]:
    return lambda: DockerProvider.connect(base_url=podman.base_url)


@pytest.fixture(scope="module")
def reachable_host(podman: PodmanService) -> str:
    return podman.network.host


@pytest.mark.soak
class TestPodmanConformance(IncompleteConformance, cannot=CANNOT):
    """All that is asked of any sandbox, except what Podman cannot do."""


def test_podman_is_recognized_with_its_gap(engine: Engine) -> None:
    provider = DockerProvider(engine)
    assert provider.promises == frozenset(Promise) - {Promise.UNPRIVILEGED}
    facts = provider.describe()
    assert facts["engine"].startswith("podman ")
    assert "user namespaces" in facts["isolation"]


class TestPodmanAttempts(EngineAttempts):
    """Whole attempts on Podman."""
