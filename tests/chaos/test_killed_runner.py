"""A run that is killed, wherever it is, goes on to the same verdicts and leaves nothing behind.

The gate tries some ends of an attempt, in containers without controls; the soak tries all.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.docker.provider import DockerProvider
from tests.chaos.killing import Disturbing, kill_and_go_on, shares
from tests.sandbox.compose_services import STORE, compose
from tests.sandbox.docker_fixtures import engine

pytestmark = pytest.mark.first

__all__ = ["compose", "engine"]

FEW = ("fixed-slowly", "late")
"""Ends of attempts that the gate tries."""


@pytest.mark.usefixtures("bubblewrap")
def test_killed_run_resumes_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} bubblewrap")
    at = Disturbing(tmp_path, environ, "bubblewrap", 4 if whole else 1)
    if not whole:
        at = at._replace(ends=FEW)
    kill_and_go_on(at, chance, 50 if whole else 1)


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_killed_run_in_containers_resumes_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} docker")
    at = Disturbing(tmp_path, environ, "docker", 4 if whole else 1)
    if not whole:
        at = at._replace(ends=FEW, more=("--integrity-controls", "off"))
    kill_and_go_on(at, chance, 50 if whole else 1)


@pytest.mark.docker
@pytest.mark.usefixtures("docker", "compose")
def test_killed_run_with_services_resumes_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} services")
    ends = (*FEW, "half") if whole else FEW
    more = () if whole else ("--integrity-controls", "off")
    at = Disturbing(tmp_path, environ, "docker", 1, ends, more, STORE)
    kill_and_go_on(at, chance, 20 if whole else 1)


@pytest.fixture(autouse=True)
def _snapshots_are_discarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Each run has a cache of its own; what an engine holds for it goes with it."""
    yield
    if "docker" in request.fixturenames:
        from tests.e2e.conftest import discard_snapshots

        provider: DockerProvider = request.getfixturevalue("docker")
        for cache in tmp_path.glob("*/cache"):
            discard_snapshots(provider, cache)


def test_every_planned_kill_happens(chaos_seed: int) -> None:
    assert sum(shares(random.Random(chaos_seed), 50)) == 50
