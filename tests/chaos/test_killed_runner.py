"""A run that is killed, wherever it is, goes on to the same verdicts and leaves nothing behind."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.docker import DockerProvider
from tests.chaos.killing import Disturbing, kill_and_go_on, shares


@pytest.mark.usefixtures("bubblewrap")
def test_a_killed_run_goes_on_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} bubblewrap")
    kills, attempts = (50, 4) if whole else (2, 1)
    kill_and_go_on(Disturbing(tmp_path, environ, "bubblewrap", attempts), chance, kills)


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_a_killed_run_in_containers_goes_on_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} docker")
    kills, attempts = (50, 4) if whole else (1, 1)
    kill_and_go_on(Disturbing(tmp_path, environ, "docker", attempts), chance, kills)


@pytest.fixture(autouse=True)
def _snapshots_are_discarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Each run has a cache of its own; what an engine holds for it goes with it."""
    yield
    if "docker" in request.fixturenames:
        from tests.e2e.conftest import discard_snapshots

        provider: DockerProvider = request.getfixturevalue("docker")
        for cache in tmp_path.glob("*/cache"):
            discard_snapshots(provider, cache)


def test_kills_are_dealt_out_to_the_last(chaos_seed: int) -> None:
    assert sum(shares(random.Random(chaos_seed), 50)) == 50
