from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.extensions.symbolic.sandbox import AnalysisSandboxes
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from tests.environments import with_shared_environments


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory) -> Path:
    return with_shared_environments(tmp_path_factory.mktemp("cache"), tmp_path_factory)


@pytest.fixture(scope="session")
def provider(cache_dir):
    try:
        return BubblewrapProvider.connect(cache_dir=cache_dir)
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def analysis_sandboxes(provider, cache_dir):
    return AnalysisSandboxes(lambda: provider, cache_dir)


@pytest.fixture(scope="session")
def analysis_containers(cache_dir):
    from agentbench.sandbox.docker.provider import DockerProvider

    return AnalysisSandboxes(DockerProvider.connect, cache_dir)
