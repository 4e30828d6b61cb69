"""Runs that are killed, wherever they are, and gone on with."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from agentbench.sandbox.docker.engine import Engine
from tests.chaos.disturbed import VERDICTS, Disturbed, mounts_below
from tests.e2e.leftovers import left_in_engine, left_on_machine

_KILLS_OF_A_RUN = 10


class Disturbing(NamedTuple):
    """Where runs are made, and of what kind."""

    folder: Path
    environ: Mapping[str, str]
    sandbox: str
    attempts: int
    ends: tuple[str, ...] = tuple(VERDICTS)
    more: tuple[str, ...] = ()
    services: str = ""

    def run(self, name: str) -> Disturbed:
        """A new one."""
        return Disturbed(
            folder=self.folder / name,
            environ=self.environ,
            sandbox=self.sandbox,
            attempts=self.attempts,
            ends=self.ends,
            more=self.more,
            services=self.services,
        )


def kill_and_go_on(at: Disturbing, chance: random.Random, kills: int) -> None:
    """Kill runs so often, at moments drawn by chance; each goes on to its verdicts."""
    undisturbed = at.run("undisturbed").timed()
    for number, count in enumerate(shares(chance, kills)):
        run = at.run(str(number))
        moments = [round(chance.uniform(0.05, undisturbed / count), 2) for _ in range(count)]
        print(f"run {number} is killed after {moments} s")  # noqa: T201 - to repeat a failure
        killed = [run.killed_after(moment) for moment in moments]
        ended = run.to_the_end()

        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr
        run.check()
        _left_nothing(run, killed, at.sandbox)


def shares(chance: random.Random, kills: int) -> Iterator[int]:
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
        engine = Engine.connect(run.environ.get("DOCKER_HOST"))
        assert [left for pid in killed for left in left_in_engine(pid, engine)] == []
