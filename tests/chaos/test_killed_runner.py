"""A run that is killed, wherever it is, goes on to the same verdicts and leaves nothing behind."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine
from tests.chaos.disturbed import Disturbed, mounts_below
from tests.e2e.leftovers import left_in_engine, left_on_machine

_KILLS_OF_A_RUN = 5


@pytest.mark.usefixtures("bubblewrap")
def test_a_killed_run_goes_on_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} bubblewrap")
    kills, attempts = (50, 4) if whole else (3, 2)
    _kill_and_go_on(Disturbing(tmp_path, environ, "bubblewrap", attempts), chance, kills)


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_a_killed_run_in_containers_goes_on_to_the_same_verdicts(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool
) -> None:
    chance = random.Random(f"{chaos_seed} docker")
    kills, attempts = (50, 4) if whole else (2, 1)
    _kill_and_go_on(Disturbing(tmp_path, environ, "docker", attempts), chance, kills)


class Disturbing(NamedTuple):
    """Where runs are made, and of what kind."""

    folder: Path
    environ: dict[str, str]
    sandbox: str
    attempts: int

    def run(self, name: str) -> Disturbed:
        return Disturbed(
            folder=self.folder / name,
            environ=self.environ,
            sandbox=self.sandbox,
            attempts=self.attempts,
        )


def _kill_and_go_on(at: Disturbing, chance: random.Random, kills: int) -> None:
    undisturbed = at.run("undisturbed").timed()
    for number, count in enumerate(_shares(chance, kills)):
        run = at.run(str(number))
        moments = [round(chance.uniform(0.05, undisturbed / count), 2) for _ in range(count)]
        print(f"run {number} is killed after {moments} s")  # noqa: T201 - to repeat a failure
        killed = [run.killed_after(moment) for moment in moments]
        ended = run.to_the_end()

        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr
        run.check()
        _left_nothing(run, killed, at.sandbox)


def _shares(chance: random.Random, kills: int) -> Iterator[int]:
    """So many kills dealt out to runs, some to each."""
    while kills > 0:
        share = min(kills, chance.randint(1, _KILLS_OF_A_RUN))
        yield share
        kills -= share


def _left_nothing(run: Disturbed, killed: list[int], sandbox: str) -> None:
    cache = run.folder / "cache"
    assert [left for pid in killed for left in left_on_machine(pid, cache)] == []
    assert [str(path) for path in run.temporary.iterdir()] == []
    assert mounts_below(run.folder) == []
    if sandbox == "docker":
        engine = Engine.connect()
        assert [left for pid in killed for left in left_in_engine(pid, engine)] == []


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
    assert sum(_shares(random.Random(chaos_seed), 50)) == 50
