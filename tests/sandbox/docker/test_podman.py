"""Podman by its Docker-compatible socket: whole attempts, and what Podman cannot do.

The gate makes the attempts; the soak runs the whole conformance suite, too.
"""

from collections.abc import Callable

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider
from tests.e2e.engine_attempts import EngineAttempts
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.docker_fixtures import left_in
from tests.sandbox.podman_service import PodmanService
from tests.sandbox.private_engines import give_base_image, podman

__all__ = ["podman"]

pytestmark = pytest.mark.docker

CANNOT = {
    "test_no_capability_comes_with_a_new_user_namespace": (
        "Podman's seccomp profile lets anybody make a user namespace, and by its socket it takes "
        "no other profile than a file of its own machine"
    ),
}
"""What is asked of every sandbox and does not hold there; a test of it that passes fails."""


class _Boasting(DockerProvider):
    """Promises what it does not keep, so that no test of it is skipped."""

    @property
    def promises(self) -> frozenset[Promise]:
        return frozenset(Promise)


@pytest.fixture(scope="module")
def engine(podman: PodmanService) -> Engine:
    engine = podman.await_engine()
    give_base_image(engine)
    return engine


@pytest.fixture(scope="module")
def provider(engine: Engine) -> DockerProvider:
    return _Boasting(engine)


@pytest.fixture(scope="module")
def image(provider: DockerProvider) -> ImageId:
    return provider.resolve_image(None)


@pytest.fixture(scope="module")
def gaps() -> frozenset[Promise]:
    return frozenset()


@pytest.fixture(scope="module")
def reconnect(podman: PodmanService) -> Callable[[], SandboxProvider]:
    return lambda: DockerProvider.connect(base_url=podman.base_url)


@pytest.fixture(scope="module")
def leftovers(engine: Engine) -> Callable[[], frozenset[str]]:
    return lambda: left_in(engine)


@pytest.fixture(scope="module")
def reachable_host(podman: PodmanService) -> str:
    return podman.network.host


@pytest.mark.soak
class TestPodmanConformance(SandboxConformance):
    """All that is asked of any sandbox, except what Podman cannot do."""

    @pytest.fixture(autouse=True)
    def known_gap(self, request: pytest.FixtureRequest) -> None:
        reason = CANNOT.get(request.node.originalname)
        if reason is not None:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_every_known_gap_names_a_test() -> None:
    assert [name for name in CANNOT if not hasattr(SandboxConformance, name)] == []


def test_podman_is_recognized_with_its_gap(engine: Engine) -> None:
    provider = DockerProvider(engine)
    assert provider.promises == frozenset(Promise) - {Promise.UNPRIVILEGED}
    facts = provider.describe()
    assert facts["engine"].startswith("podman ")
    assert "user namespaces" in facts["isolation"]


class TestPodmanAttempts(EngineAttempts):
    """Whole attempts on Podman."""
