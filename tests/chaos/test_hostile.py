"""Agents that mean harm, each beside an honest one: their attempts end, ours alone are left."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench import AttemptRecord, RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.sandbox.process import PREFIX, ProcessProvider
from tests.chaos.hostile import AGENT_SECONDS, HOSTILE, HOSTILE_TASK, Hostile
from tests.e2e.bench import WHOLE, Bench
from tests.e2e.small_task import FIX, SmallTask

SAMPLE, SAMPLE_UNWALLED = 6, 3  # commands a back end, where not all are wanted
MARGIN = 240.0  # seconds for an attempt's other stages and for what is left to remove, under load
MARK = f"agentbench-hostile-{os.getpid()}"
ROOMY = 3 << 30  # bytes by which other programs of this machine may change memory and disk


@pytest.fixture(scope="module")
def host(cache_dir: Path) -> Iterator[None]:
    """The machine has, once all is over, what it had before; the kernel takes a moment for it."""
    before = _free()
    yield
    deadline = time.monotonic() + 60
    while any(now < was - ROOMY for now, was in zip(_free(), before, strict=True)):
        assert time.monotonic() < deadline, f"memory and disk: {before}, now {_free()}"
        time.sleep(0.5)
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    assert [mount for mount in mounts if str(cache_dir) in mount] == []
    assert list(_process_sandboxes()) == []


@pytest.fixture
def process_bench(cache_dir: Path, tmp_path: Path) -> Bench:
    provider = ProcessProvider.connect(cache_dir=cache_dir)
    if provider.runs_as_root:
        pytest.skip("commands would run as root: no other user reaches this Python")
    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache_dir, retries=0)
    return Bench(provider=provider, options=options)


@pytest.mark.usefixtures("host")
def test_each_attempt_by_a_hostile_agent_ends_in_its_documented_reason(
    bench: Bench, tmp_path: Path, chaos_seed: int, whole: bool
) -> None:
    chosen = HOSTILE if whole else _sample(HOSTILE, SAMPLE, chaos_seed, bench)
    assert _wrong(bench, chosen, tmp_path) == [], f"AGENTBENCH_CHAOS_SEED={chaos_seed}"


@pytest.mark.usefixtures("host")
def test_what_cannot_harm_the_host_ends_so_without_walls_too(
    process_bench: Bench, tmp_path: Path, chaos_seed: int, whole: bool
) -> None:
    harmless = tuple(each for each in HOSTILE if each.anywhere)
    chosen = harmless if whole else _sample(harmless, SAMPLE_UNWALLED, chaos_seed, process_bench)
    assert _wrong(process_bench, chosen, tmp_path) == [], f"AGENTBENCH_CHAOS_SEED={chaos_seed}"


def test_there_are_enough_of_them_and_each_goes_by_a_name_of_its_own() -> None:
    assert len({each.name for each in HOSTILE}) == len(HOSTILE) >= 30
    assert all(len(each.ends) == 1 or (len(each.ends) == 2 and each.why) for each in HOSTILE)
    assert not any("infrastructure" in end for each in HOSTILE for end in each.ends)


def _sample(
    commands: tuple[Hostile, ...], count: int, seed: int, bench: Bench
) -> tuple[Hostile, ...]:
    drawn = random.Random(f"{seed}-{bench.provider.name}")
    return tuple(drawn.sample(commands, count))


def _wrong(bench: Bench, commands: tuple[Hostile, ...], tmp_path: Path) -> list[str]:
    """What went wrong with these commands."""
    environment = f'{HOSTILE_TASK.environment}\nenv = {{ MARK = "{MARK}" }}'
    task = replace(HOSTILE_TASK, environment=environment).write(tmp_path / "hostile")
    honest = SmallTask().write(tmp_path / "honest")
    _beside(bench, honest, honest, FIX, tmp_path)  # what both start from is made once
    return [said for each in commands if (said := _tried(bench, each, task, honest, tmp_path))]


def _tried(bench: Bench, hostile: Hostile, task: Path, honest: Path, tmp_path: Path) -> str:
    """What went wrong with a command, if anything did."""
    others = bench.left_over()
    began = time.monotonic()
    record, neighbour = _beside(bench, task, honest, hostile.line, tmp_path)
    seconds = time.monotonic() - began
    bench.check(record, walked=WHOLE)
    end = _end_of(record)
    if not end.startswith(hostile.ends):
        return f"{hostile.name}: {end}, not {' or '.join(hostile.ends)}"
    if not neighbour.resolved:
        return f"{hostile.name}: its neighbour ended in {_end_of(neighbour)}"
    if seconds > AGENT_SECONDS + MARGIN:
        return f"{hostile.name}: {seconds:.0f} s"
    left = [each for each in bench.left_over() if each not in others] + _marked_processes()
    return f"{hostile.name}: left {left}" if left else ""


def _beside(
    bench: Bench, task: Path, honest: Path, line: str, tmp_path: Path
) -> tuple[AttemptRecord, AttemptRecord]:
    """Attempts by a hostile and by an honest agent, at the same time."""
    elsewhere = replace(bench.options, runs_dir=tmp_path / "neighbours")
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


def _free() -> tuple[int, int]:
    """Bytes of memory and of disk that are free."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    disk = os.statvfs(tempfile.gettempdir())
    return int(memory["MemAvailable"].split()[0]) << 10, disk.f_bfree * disk.f_frsize


def _process_sandboxes() -> Iterator[Path]:
    """The folders of process sandboxes that are ours."""
    for owner in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/owner"):
        if owner.read_text().strip() == str(os.getpid()):
            yield owner.parent
