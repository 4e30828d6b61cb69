"""Hostile agents, each beside an honest one: what goes wrong with an attempt, if anything does."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentbench import AttemptRecord, run_attempt
from agentbench.agents.command import CommandAgent
from tests.chaos.hostile import LIMITS_SECONDS, Hostile, task_within
from tests.e2e.bench import WHOLE, Bench
from tests.e2e.small_task import FIX, SmallTask

MARK = f"agentbench-hostile-{os.getpid()}"


def sample(
    commands: tuple[Hostile, ...], count: int, seed: int, bench: Bench
) -> tuple[Hostile, ...]:
    """So many of them, the same for one seed."""
    drawn = random.Random(f"{seed}-{bench.provider.name}")
    return tuple(drawn.sample(commands, count))


def wrong(bench: Bench, commands: tuple[Hostile, ...], tmp_path: Path) -> list[str]:
    """What went wrong with these commands."""
    marked = f'env = {{ MARK = "{MARK}" }}'
    tasks = [
        task_within(seconds, marked).write(tmp_path / f"hostile-{seconds}")
        for seconds in LIMITS_SECONDS
    ]
    honest = SmallTask().write(tmp_path / "honest")
    _beside(bench, honest, honest, FIX, tmp_path)  # what both start from is made once
    return [
        reported for each in commands if (reported := _tried(bench, each, tasks, honest, tmp_path))
    ]


def _tried(bench: Bench, hostile: Hostile, tasks: list[Path], honest: Path, tmp_path: Path) -> str:
    """What went wrong with a command, if anything did."""
    others = bench.left_over()
    for task in tasks:
        record, neighbour = _beside(bench, task, honest, hostile.line, tmp_path)
        bench.check(record, walked=WHOLE)
        end = _end_of(record)
        if not hostile.may_need_longer(end):
            break
    if not hostile.ends_in(end):
        return f"{hostile.name}: {end}, not {' or '.join(hostile.ends)}"
    if not neighbour.resolved:
        return f"{hostile.name}: its neighbour ended in {_end_of(neighbour)}"
    left = [each for each in bench.left_over() if each not in others] + _marked_processes()
    return f"{hostile.name}: left {left}" if left else ""


def _beside(
    bench: Bench, task: Path, honest: Path, line: str, tmp_path: Path
) -> tuple[AttemptRecord, AttemptRecord]:
    """Attempts by a hostile and by an honest agent, at the same time."""
    elsewhere = bench.options.replace(runs_dir=tmp_path / "neighbours")
    with ThreadPoolExecutor(1) as pool:
        neighbour = pool.submit(
            run_attempt, honest, CommandAgent(FIX), sandbox=bench.provider, options=elsewhere
        )
        record = run_attempt(
            task, CommandAgent(line), sandbox=bench.provider, options=bench.options
        )
        return record, neighbour.result()


def _end_of(record: AttemptRecord) -> str:
    if record.resolved:
        return "resolved"
    return f"{record.failure_reason}, {record.fault}: {record.detail}"


def _marked_processes() -> list[str]:
    """The processes of this machine that bear our mark, but for those that are just dying."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = MARK.encode() in (folder / "environ").read_bytes()
        except OSError:
            continue
        if marked:
            found.append(f"{folder.name} {(folder / 'comm').read_text().strip()}")
    return found
