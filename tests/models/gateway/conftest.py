"""Real sandboxes for what runs in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.process.provider import ProcessProvider
from tests.e2e import conftest as end_to_end
from tests.sandbox.forwarder import forwarding

bubblewrap = end_to_end.bubblewrap
cache_dir = end_to_end.cache_dir
docker = end_to_end.docker


@pytest.fixture(scope="session")
def process(cache_dir: Path) -> ProcessProvider:
    """Commands without walls."""
    return ProcessProvider.connect(cache_dir=cache_dir)


@pytest.fixture(scope="session")
def elsewhere(docker: DockerProvider) -> Iterator[DockerProvider]:
    """The engine as one that is reached by TCP, and so shares no files with us."""
    engine = Engine.connect()
    if not engine.address.is_local:
        yield docker
        return
    path = (engine.address.url or "/var/run/docker.sock").removeprefix("unix://")
    with forwarding(path) as port:
        yield DockerProvider.connect(base_url=f"tcp://127.0.0.1:{port}")
