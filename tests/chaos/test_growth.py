"""However many attempts a run makes, it holds no more of anything in the end than at first."""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from agentbench.sandbox.docker.engine import Engine
from tests.e2e.leftovers import left_in_engine
from tests.e2e.program import started_program
from tests.e2e.small_task import SmallTask
from tests.patience import HANG_SECONDS

_MIB = 1 << 20
_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30  # bytes: eight sandboxes hold some 200 MB
_AT_A_TIME = 8
_GROWTH = 8 * _MIB
"""Bytes by which memory may differ between tenths: what the allocator holds varies by so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a process holds at a moment."""

    memory_bytes: int
    threads: int
    descriptors: int
    containers: int


@pytest.fixture
def in_memory() -> Iterator[dict[str, str]]:
    """Where sandboxes are to be, if there is room: on disks some kernels take 1 ms for a file."""
    if not _SHARED_MEMORY.is_dir() or shutil.disk_usage(_SHARED_MEMORY).free < _ROOM:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="growth-", dir=_SHARED_MEMORY) as folder:
        Path(folder).chmod(0o711)  # the sandbox's user walks through
        yield {"TMPDIR": folder}


@pytest.mark.soak
def test_two_thousand_attempts_hold_no_more_than_two_hundred(
    tmp_path: Path, environ: dict[str, str], in_memory: dict[str, str]
) -> None:
    _does_not_grow(tmp_path, environ | in_memory, "process", attempts=2000)


@pytest.mark.soak
@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_three_hundred_attempts_in_containers_hold_no_more_than_thirty(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    engine = Engine.connect()
    attempts = 300
    containers = lambda pid: len(left_in_engine(pid, engine))  # noqa: E731
    pid = _does_not_grow(tmp_path, environ, "docker", attempts=attempts, containers=containers)
    assert left_in_engine(pid, engine) == []


def _does_not_grow(
    folder: Path,
    environ: Mapping[str, str],
    sandbox: str,
    *,
    attempts: int,
    containers: Callable[[int], int] = lambda _pid: 0,
) -> int:
    task = SmallTask().write(folder / "small")
    options = (
        "--agent", "noop", "--integrity-controls", "off", "-k", str(attempts),
        "-j", str(_AT_A_TIME), "--sandbox", sandbox, "-v",
    )  # fmt: skip
    with started_program("run", task, *options, env=environ, cwd=folder) as program:
        assert program.stderr is not None
        ends = (line for line in program.stderr if " small " in line)  # one for each attempt
        held = [_held(program.pid, containers) for _ in islice(ends, attempts)]
        # The table of so many attempts is more than a pipe holds.
        program.communicate(timeout=HANG_SECONDS)
    assert program.returncode == 0
    assert len(held) == attempts
    tenth = max(4, attempts // 10)
    # Without those that were the first in their slots: all that is loaded once is loaded then.
    begin = max(_AT_A_TIME, tenth // 2)
    first, last = _median(held[begin : begin + tenth]), _median(held[-tenth:])
    print(f"{sandbox}, {attempts} attempts: {first} -> {last}")  # noqa: T201 - the figures
    assert last.memory_bytes - first.memory_bytes < _GROWTH
    assert last.threads - first.threads <= 1
    assert last.descriptors - first.descriptors <= 8  # those of attempts under way vary
    assert last.containers - first.containers <= 8
    return program.pid


def _held(pid: int, containers: Callable[[int], int]) -> Held:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return Held(
        memory_bytes=int(status["VmRSS"].split()[0]) * 1024,
        threads=int(status["Threads"]),
        descriptors=sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
        containers=containers(pid),
    )


def _median(held: list[Held]) -> Held:
    return Held(
        memory_bytes=int(statistics.median(each.memory_bytes for each in held)),
        threads=int(statistics.median(each.threads for each in held)),
        descriptors=int(statistics.median(each.descriptors for each in held)),
        containers=int(statistics.median(each.containers for each in held)),
    )
