"""What end-to-end tests share: one cache, one bench for each back end."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.images import build_base_image
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import SandboxProvider
from tests.e2e.bench import Bench
from tests.environments import with_shared_environments

BACK_ENDS = ("bubblewrap", pytest.param("docker", marks=pytest.mark.docker))


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: tests of the same task share its preparation, and all the environments.

    The same folder wherever this fixture is taken over: pytest makes each taken one anew.
    """
    folder = tmp_path_factory.getbasetemp() / "cache"
    return with_shared_environments(folder, tmp_path_factory)


@pytest.fixture(scope="session")
def bubblewrap(cache_dir: Path) -> BubblewrapProvider:
    try:
        return BubblewrapProvider.connect(cache_dir=cache_dir)
    except UnavailableError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def docker(cache_dir: Path) -> Iterator[DockerProvider]:
    try:
        provider = DockerProvider.connect()
        build_base_image(Engine.connect())
    except (UnavailableError, SandboxError) as fault:
        pytest.skip(str(fault))
    yield provider
    discard_snapshots(provider, cache_dir)


def discard_snapshots(provider: SandboxProvider, cache_dir: Path) -> None:
    """Free the snapshots that tests made in an engine."""
    for folder in (cache_dir / "prepared" / provider.name).glob("*/"):
        snapshot = provider.find(folder.name)
        if snapshot is not None:
            provider.discard(snapshot)


@pytest.fixture(params=BACK_ENDS)
def bench(request: pytest.FixtureRequest, cache_dir: Path, tmp_path: Path) -> Bench:
    """A bench on each back end in turn."""
    provider = request.getfixturevalue(request.param)
    engine = Engine.connect() if request.param == "docker" else None
    return Bench(provider=provider, engine=engine, options=_options(cache_dir, tmp_path))


@pytest.fixture
def walled_bench(bubblewrap: BubblewrapProvider, cache_dir: Path, tmp_path: Path) -> Bench:
    """A bench on bubblewrap, for what does not depend on the back end."""
    return Bench(provider=bubblewrap, options=_options(cache_dir, tmp_path))


@pytest.fixture
def environ(cache_dir: Path) -> dict[str, str]:
    """The environment for the command: as it is, with the cache of these tests."""
    return {**os.environ, "AGENTBENCH_CACHE": str(cache_dir), "NO_COLOR": "1", "COLUMNS": "200"}


def _options(cache_dir: Path, tmp_path: Path) -> RunOptions:
    return RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache_dir, retries=0)
