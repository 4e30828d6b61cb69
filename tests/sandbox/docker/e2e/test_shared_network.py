"""Services on the localhost of their sandbox, and hosts outside of it, in a real engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench.core.network import Network
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import (
    HasServices,
    ImageId,
    LastingSandbox,
    Limits,
    Sandbox,
    SandboxUse,
)
from tests.sandbox.compose_services import PORT, STORE, compose, services_in
from tests.sandbox.conformance_base import sh
from tests.sandbox.conformance_isolation import connects, listening
from tests.sandbox.docker_fixtures import bridge_of, engine, image, left_in, provider

__all__ = ["compose", "engine", "image", "provider"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]

LIMITS = Limits(memory_mib=512, pids=128, disk_mib=512, cpus=2.0)
_SERVICE = STORE.rstrip().partition("  db:\n")[2] + "\n    networks: [default]\n"
OUTSIDE = f"{STORE.rstrip()}\n  out:\n{_SERVICE}    hostname: elsewhere\n  beside:\n{_SERVICE}"
HERE = int(PORT)


@contextmanager
def opened(
    provider: DockerProvider, image: ImageId, folder: Path, *, network: bool, changes: bool
) -> Iterator[Sandbox]:
    services = replace(services_in(folder, OUTSIDE), on_localhost=True)
    use = SandboxUse(lasting=True, changes_network=changes, services=services)
    with provider.open(image, limits=LIMITS, network=network, use=use) as sandbox:
        yield sandbox


def reached(sandbox: Sandbox, engine: Engine) -> tuple[bool, ...]:
    """Whether it reaches its own service, each one outside, and the engine's machine."""
    with listening() as port:
        return (
            connects(sandbox, "localhost", HERE),
            connects(sandbox, "out", HERE),
            connects(sandbox, "beside", HERE),
            connects(sandbox, bridge_of(engine), port),
        )


@pytest.mark.parametrize("network", [False, True])
def test_services_share_its_network_unless_they_have_their_own(
    provider: DockerProvider, image: ImageId, engine: Engine, tmp_path: Path, *, network: bool
) -> None:
    before = left_in(engine)
    with opened(provider, image, tmp_path, network=network, changes=False) as sandbox:
        assert reached(sandbox, engine) == (True, network, network, network)
        assert "db" not in sh(sandbox, "getent hosts db").stdout
        assert isinstance(sandbox, HasServices)
        assert [each.name for each in sandbox.service_reports()] == ["beside", "db", "out"]
    assert left_in(engine) == before


def test_each_stage_reaches_the_services_that_its_network_has(
    provider: DockerProvider, image: ImageId, engine: Engine, tmp_path: Path
) -> None:
    stages: dict[Network, tuple[bool, ...]] = {
        ("out",): (True, True, False, False),
        True: (True, True, True, True),
        ("beside", "*.org"): (True, False, True, False),
        False: (True, False, False, False),
    }
    with opened(provider, image, tmp_path, network=False, changes=True) as sandbox:
        assert isinstance(sandbox, LastingSandbox)
        for network, expected in stages.items():
            sandbox.set_network(network)
            assert reached(sandbox, engine) == expected
