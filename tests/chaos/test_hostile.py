"""Agents that mean harm, each beside an honest one: their attempts end, ours alone are left."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.sandbox.process.provider import FOLDER_PREFIX, ProcessProvider
from tests.chaos.hostile import HOSTILE
from tests.chaos.hostile_trials import sample, wrong
from tests.e2e.bench import Bench
from tests.patience import wait_until

SAMPLE, SAMPLE_UNWALLED = 1, 1  # commands a back end, where not all are wanted
ROOMY = 3 << 30  # bytes by which other programs of this machine may change memory and disk


@pytest.fixture(scope="module")
def host(cache_dir: Path) -> Iterator[None]:
    """The machine has, once all is over, what it had before; the kernel takes a moment for it."""
    before = _free()
    yield
    wait_until(lambda: all(now >= was - ROOMY for now, was in zip(_free(), before, strict=True)))
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
    chosen = HOSTILE if whole else sample(HOSTILE, SAMPLE, chaos_seed, bench)
    assert wrong(bench, chosen, tmp_path) == [], f"AGENTBENCH_CHAOS_SEED={chaos_seed}"


@pytest.mark.usefixtures("host")
def test_harmless_attacks_end_alike_without_isolation(
    process_bench: Bench, tmp_path: Path, chaos_seed: int, whole: bool
) -> None:
    harmless = tuple(each for each in HOSTILE if each.anywhere)
    chosen = harmless if whole else sample(harmless, SAMPLE_UNWALLED, chaos_seed, process_bench)
    assert wrong(process_bench, chosen, tmp_path) == [], f"AGENTBENCH_CHAOS_SEED={chaos_seed}"


def test_hostile_commands_have_unique_names() -> None:
    assert len({each.name for each in HOSTILE}) == len(HOSTILE) >= 30
    assert all(len(each.ends) == 1 or (len(each.ends) == 2 and each.why) for each in HOSTILE)
    assert not any("infrastructure" in end for each in HOSTILE for end in each.ends)


def _free() -> tuple[int, int]:
    """Bytes of memory and of disk that are free."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    disk = os.statvfs(tempfile.gettempdir())
    return int(memory["MemAvailable"].split()[0]) << 10, disk.f_bfree * disk.f_frsize


def _process_sandboxes() -> Iterator[Path]:
    """The folders of process sandboxes that are ours."""
    for owner in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*/owner"):
        if owner.read_text().strip() == str(os.getpid()):
            yield owner.parent
