"""A timeline gives a cheat nothing: the verdict is the same without it, and no secret is stored."""

from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from agentbench import AttemptRecord, run_attempt
from agentbench.agents.interface import Agent
from agentbench.attempt.timeline.document import Timeline
from tests.attempt.timeline.corpora.agents import between_commands
from tests.attempt.timeline.corpora.histories import python
from tests.attempt.timeline.corpora.shop_task import UNFIX, write_shop
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.full


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Commands of an agent, and whether their end solves the task."""

    name: str
    lines: tuple[str, ...]
    resolved: bool = False


_FLOOD = python("""
    for number in range(1000):
        with open(f"state{number % 7}.txt", "w") as file:
            file.write(str(number))
""")
_DEEP = python("""
    import os
    for number in range(1000):
        os.mkdir("d")
        os.chdir("d")
    open("deep.py", "w").close()
""")
_SIGNAL = (
    "for p in /proc/[0-9]*; do if [ $p != /proc/$$ ] && "
    "tr '\\0' ' ' < $p/cmdline | grep -q agentbench-changes; then kill -{} ${{p#/proc/}}; fi; done"
)
WITHIN = Attack(name="solved within one command alone", lines=(f"{FIX}; {UNFIX}", "ls"))
ATTACKS = (
    WITHIN,
    Attack(name="solved for a while", lines=(FIX, UNFIX)),
    Attack(name="flood of states, then solved", lines=(_FLOOD, FIX), resolved=True),
    Attack(name="solved, then flood of states", lines=(FIX, _FLOOD, UNFIX)),
    Attack(name="links out of the workspace", lines=("ln -s /etc/passwd a; ln -s / b", FIX, UNFIX)),
    Attack(name="devices and pipes", lines=("mkfifo p; mknod z c 1 5 || true; ln -s /dev/zero y",)),
    Attack(name="sparse file of 4 GB", lines=("truncate -s 4G sparse", FIX), resolved=True),
    Attack(name="deep folders", lines=(_DEEP, FIX, "rm -rf d"), resolved=True),
)
# These change programs and processes of the system around the agent, so that they run nowhere but
# in a container of their own, which also is the only place where the program that scans can be met.
CONTAINER_ATTACKS = (
    Attack(name="killed program", lines=(_SIGNAL.format("KILL"), "ls", FIX, UNFIX)),
)


def run(agent: Agent, bench: Bench, task: Path, *, timeline: bool) -> AttemptRecord:
    options = bench.options.replace(timeline=timeline)
    return run_attempt(task, agent, sandbox=bench.provider, options=options)


def verdict(record: AttemptRecord) -> tuple[object, ...]:
    """All that a timeline must not change."""
    why = (record.failure_reason, record.fault, record.detail)
    return (record.resolved, record.rewards, *why, record.findings, record.tests)


def check(attack: Attack, bench: Bench, folder: Path) -> Timeline:
    """Make the attempt with a timeline and without it; returns the timeline."""
    task = write_shop(folder / "task")
    agent = between_commands(attack.lines, [])
    with_timeline = run(agent, bench, task, timeline=True)
    without = run(agent, bench, task, timeline=False)
    assert verdict(with_timeline) == verdict(without)
    assert with_timeline.resolved == attack.resolved
    attempt = bench.options.runs_dir / with_timeline.run_id / "attempts/task/1"
    timeline = Timeline.model_validate_json((attempt / "timeline.json").read_bytes())
    assert len(timeline.judged) <= 12
    with ZipFile(attempt / "agent/timeline.zip") as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    assert not [each for each in contents if b"root:" in each or b"every_price" in each]
    return timeline


@one_back_end
@pytest.mark.parametrize("attack", gate_and_soak([WITHIN], ATTACKS))
def test_verdict_is_the_same_without_a_timeline(
    attack: Attack, bench: Bench, tmp_path: Path
) -> None:
    check(attack, bench, tmp_path)


@pytest.mark.docker
@pytest.mark.parametrize("attack", gate_and_soak([], CONTAINER_ATTACKS))
@pytest.mark.parametrize("bench", ["docker"], indirect=True)
def test_verdict_is_the_same_whatever_becomes_of_the_program_that_scans(
    attack: Attack, bench: Bench, tmp_path: Path
) -> None:
    check(attack, bench, tmp_path)
