"""The same faults with Podman in the place of Docker's engine, in the soak.

Whole attempts on Podman are in the gate, in tests/sandbox/docker/e2e/test_podman.py.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from tests.chaos.hostile import HOSTILE
from tests.chaos.hostile_trials import sample, wrong
from tests.chaos.killing import Disturbing, kill_and_go_on
from tests.e2e.bench import Bench
from tests.e2e.conftest import discard_snapshots
from tests.sandbox.podman_service import PodmanService
from tests.sandbox.private_engines import podman, podman_engine

__all__ = ["podman", "podman_engine"]

pytestmark = [pytest.mark.docker, pytest.mark.soak]  # the base image comes from Docker

SAMPLE = 1


@pytest.fixture
def podman_bench(engine: Engine, tmp_path: Path) -> Iterator[Bench]:
    provider = DockerProvider(engine)
    cache = tmp_path / "cache"
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache, retries=0)
    yield Bench(provider=provider, engine=engine, options=options)
    discard_snapshots(provider, cache)


def test_each_attempt_by_a_hostile_agent_ends_in_its_documented_reason(
    podman_bench: Bench, tmp_path: Path, chaos_seed: int, whole: bool
) -> None:
    chosen = HOSTILE if whole else sample(HOSTILE, SAMPLE, chaos_seed, podman_bench)
    assert wrong(podman_bench, chosen, tmp_path) == [], f"AGENTBENCH_CHAOS_SEED={chaos_seed}"


def test_killed_run_resumes_to_the_same_verdicts(
    podman: PodmanService,
    engine: Engine,
    environ: dict[str, str],
    tmp_path: Path,
    chaos_seed: int,
    whole: bool,
) -> None:
    del engine  # which has its base image by now
    kills, attempts = (20, 2) if whole else (1, 1)
    at = Disturbing(tmp_path, {**environ, "DOCKER_HOST": podman.base_url}, "docker", attempts)
    kill_and_go_on(at, random.Random(f"{chaos_seed} podman"), kills)
