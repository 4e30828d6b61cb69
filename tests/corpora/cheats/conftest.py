"""What the corpus is tried on: the benches of the end-to-end tests, and a naive harness."""

from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from tests.corpora.cheats.naive import NaiveHarness
from tests.e2e import conftest as shared
from tests.e2e.bench import Bench

bench = shared.bench
bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
docker = shared.docker
environ = shared.environ
walled_bench = shared.walled_bench


@pytest.fixture
def naive(bubblewrap: BubblewrapProvider) -> NaiveHarness:
    return NaiveHarness(provider=bubblewrap)


@pytest.fixture
def docker_bench(docker: DockerProvider, cache_dir: Path, tmp_path: Path) -> Bench:
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache_dir, retries=0)
    return Bench(provider=docker, engine=Engine.connect(), options=options)
