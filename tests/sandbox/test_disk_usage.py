import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.sandbox import disk_usage
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch, FolderGauge, out_of_disk
from agentbench.sandbox.interface import Limits
from agentbench.sandbox.trees import remove_tree
from agentbench.scoring.evidence import CommandResult, Ending
from tests.sandbox.test_trees import dig

HOLD = """
import os, sys
name = sys.argv[1]
file = open(name, "wb")
os.unlink(name)
file.write(b"x" * (1 << 20))
file.flush()
memory = os.memfd_create("m")
os.write(memory, b"x" * (1 << 20))
print("held", flush=True)
sys.stdin.read()
"""


def measured(*folders: Path, processes: tuple[int, ...] = ()) -> DiskUsage:
    """The last word of a gauge."""
    *_, found = FolderGauge(folders=folders, processes=lambda: processes).measure()
    return found


def test_allocated_blocks_count_and_not_sizes(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(os.urandom(1 << 20))
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(10 << 30)
    found = measured(tmp_path)
    assert found.files == 2
    assert 1 << 20 <= found.bytes < 2 << 20


def test_files_folders_and_links_of_all_folders_are_counted(tmp_path: Path) -> None:
    for room in ("a", "b"):
        (tmp_path / room / "folder").mkdir(parents=True)
        (tmp_path / room / "link").symlink_to("/")
        os.mkfifo(tmp_path / room / "folder" / "pipe")
        (tmp_path / room / os.fsdecode(b"no\xfftext\n")).touch()
    assert measured(tmp_path / "a", tmp_path / "b").files == 8


def test_a_file_with_many_names_takes_its_blocks_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(1 << 20))
    for number in range(10):
        os.link(tmp_path / "x", tmp_path / str(number))
    found = measured(tmp_path)
    assert (found.files, found.bytes >> 20) == (11, 1)


def test_tree_deeper_than_paths_is_counted(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    dig(tmp_path / "deep", 2_100)
    assert measured(tmp_path / "deep").files == 2_101
    remove_tree(tmp_path / "deep")


def test_nameless_file_is_found_by_its_process(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    argv = (sys.executable, "-c", HOLD, str(tmp_path / "x"))
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert measured(tmp_path) == DiskUsage(bytes=0, files=0)
        found = measured(tmp_path, processes=(holder.pid, 2**22 + 1))
        holder.kill()
    assert (found.files, found.bytes >> 20) == (1, 1)


def test_long_measurement_yields_partial_sums(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / str(number)).touch()
    steps = [step.files for step in FolderGauge(folders=(tmp_path,), processes=tuple).measure()]
    assert len(steps) > 3
    assert steps == sorted(steps)


def test_free_space_shrinks_by_written_files(tmp_path: Path) -> None:
    gauge = FolderGauge(folders=(tmp_path, tmp_path), processes=tuple)
    free = gauge.free()
    assert free is not None
    facts = os.statvfs(tmp_path)
    assert abs(free.bytes - facts.f_bfree * facts.f_frsize) < 2 << 30  # others write, too


def test_missing_folders_have_unknown_free_space(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert FolderGauge(folders=(gone,), processes=tuple).free() is None
    assert measured(gone) == DiskUsage(bytes=0, files=0)


MIB = 1 << 20
LIMITS = Limits(disk_mib=100, files=1_000)


@dataclass(slots=True)
class FakeGauge:
    """A sandbox that holds what it is told to."""

    held: DiskUsage = field(default_factory=lambda: DiskUsage(bytes=0, files=0))
    taken_by_others: DiskUsage = field(default_factory=lambda: DiskUsage(bytes=0, files=0))
    blind: bool = False
    fails: bool = False
    measures: int = 0

    def hold(self, *, mib: int = 0, files: int = 0) -> None:
        self.held = DiskUsage(bytes=mib * MIB, files=files)

    def free(self) -> DiskUsage | None:
        taken = (self.held, self.taken_by_others)
        left = DiskUsage(
            bytes=10_000 * MIB - sum(each.bytes for each in taken),
            files=10**6 - sum(each.files for each in taken),
        )
        return None if self.blind else left

    def measure(self) -> Iterator[DiskUsage | None]:
        self.measures += 1
        yield None
        if not self.fails:
            yield DiskUsage(bytes=self.held.bytes // 2, files=self.held.files // 2)
            yield self.held


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    clock = Clock()
    monkeypatch.setattr(disk_usage.time, "monotonic", clock)
    return clock


@dataclass(slots=True)
class Clock:
    """Time that passes when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def looked(watch: DiskWatch, clock: Clock, seconds: float) -> str:
    """What is said at the end of so many seconds of a command's loop."""
    for _ in range(round(seconds * 20)):
        clock.now += 0.05
        if reported := watch.exceeded():
            return reported
    return ""


def ran(watch: DiskWatch, clock: Clock, seconds: float) -> str:
    """What is said of a command that ran so long."""
    watch.begin()
    reported = looked(watch, clock, seconds)
    return watch.end() or reported


def test_sandbox_within_its_limits_is_measured_rarely(clock: Clock) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=90, files=900)
    assert ran(watch, clock, 60) == ""
    assert 10 <= gauge.measures <= 12


def test_a_short_command_that_writes_little_is_not_measured(clock: Clock) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=90, files=900)
    assert ran(watch, clock, 0.3) == ""
    assert gauge.measures == 0


@pytest.mark.parametrize(
    ("mib", "files", "words"), [(101, 0, "100 MiB"), (0, 1_001, "1000 files"), (100, 1_000, "")]
)
def test_exceeded_limit_is_reported_at_the_next_check(
    clock: Clock, mib: int, files: int, words: str
) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    watch.begin()
    gauge.hold(mib=mib, files=files)
    assert looked(watch, clock, 0.3) == words
    assert watch.end() == words


def test_short_command_is_held_to_the_limit(clock: Clock) -> None:
    del clock  # which stands still
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    watch.begin()
    gauge.hold(mib=500)
    assert watch.end() == "100 MiB"


def test_files_of_others_are_not_charged(clock: Clock) -> None:
    gauge = FakeGauge(taken_by_others=DiskUsage(bytes=0, files=0))
    watch = DiskWatch(gauge, LIMITS)
    gauge.taken_by_others = DiskUsage(bytes=5_000 * MIB, files=50_000)
    assert ran(watch, clock, 1) == ""
    assert gauge.measures == 1


def test_growth_hidden_by_others_is_found(clock: Clock) -> None:
    gauge = FakeGauge(taken_by_others=DiskUsage(bytes=5_000 * MIB, files=0))
    watch = DiskWatch(gauge, LIMITS)
    gauge.taken_by_others = DiskUsage(bytes=0, files=0)
    gauge.hold(mib=500)
    assert ran(watch, clock, 10) == "100 MiB"


def test_short_commands_add_up_to_a_measure(clock: Clock) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    for _ in range(60):
        assert ran(watch, clock, 1) == ""
    assert 10 <= gauge.measures <= 14


def test_command_after_the_limit_may_only_delete(clock: Clock) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=500, files=10)
    assert ran(watch, clock, 1) == "100 MiB"
    assert ran(watch, clock, 30) == ""
    watch.begin()
    gauge.hold(mib=300, files=10)
    assert looked(watch, clock, 10) == ""
    gauge.hold(mib=310, files=10)
    assert looked(watch, clock, 10) == "100 MiB"
    watch.end()
    gauge.hold(mib=50)
    assert ran(watch, clock, 10) == ""
    gauge.hold(mib=101)
    assert ran(watch, clock, 10) == "100 MiB"


def test_unknown_free_space_is_measured_more_often(clock: Clock) -> None:
    gauge = FakeGauge(blind=True)
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=101)
    assert ran(watch, clock, 1) == ""
    assert ran(watch, clock, 1.5) == "100 MiB"


def test_failed_measurement_reports_nothing(clock: Clock) -> None:
    gauge = FakeGauge(fails=True)
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=500)
    assert ran(watch, clock, 10) == ""
    gauge.fails = False
    assert ran(watch, clock, 10) == "100 MiB"


def test_costly_measurement_is_rare(clock: Clock) -> None:
    class Slow(FakeGauge):
        def measure(self) -> Iterator[DiskUsage | None]:
            for step in super().measure():
                clock.now += 0.5
                yield step

    gauge = Slow()
    watch = DiskWatch(gauge, LIMITS)
    assert ran(watch, clock, 600) == ""
    assert gauge.measures * 1.5 / 600 < 0.06
    assert gauge.measures > 10


def test_long_measurement_does_not_block_the_loop(clock: Clock) -> None:
    class Endless(FakeGauge):
        def measure(self) -> Iterator[DiskUsage | None]:
            while True:
                clock.now += 0.01
                yield DiskUsage(bytes=0, files=0)

    gauge = Endless()
    watch = DiskWatch(gauge, LIMITS)
    gauge.taken_by_others = DiskUsage(bytes=5_000 * MIB, files=0)
    watch.begin()
    lasted = []
    for _ in range(20):
        clock.now += 0.1
        began = clock.now
        assert watch.exceeded() == ""
        lasted.append(clock.now - began)
    assert 0 < max(lasted) < 0.1


def test_parallel_commands_share_the_limit(clock: Clock) -> None:
    del clock  # which stands still
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    watch.begin()
    watch.begin()
    gauge.hold(mib=500)
    assert watch.end() == "100 MiB"
    assert watch.end() == "100 MiB"


def result(ending: Ending, exit_code: int | None) -> CommandResult:
    return CommandResult(
        argv=("x",), ending=ending, exit_code=exit_code, duration=timedelta(), signal=9
    )


def test_result_names_the_limit_unless_the_deadline_came_first() -> None:
    killed = out_of_disk(result(Ending.KILLED, 137), "100 MiB")
    assert (killed.ending, killed.exceeded, killed.signal) == (Ending.OUT_OF_DISK, "100 MiB", None)
    assert out_of_disk(result(Ending.EXITED, 0), "1 files").ok is False
    late = result(Ending.TIMED_OUT, None)
    assert out_of_disk(late, "100 MiB") == late
    fine = result(Ending.EXITED, 0)
    assert out_of_disk(fine, "") == fine


def test_measurement_that_dies_with_its_command_is_repeated(clock: Clock) -> None:
    class Inside(FakeGauge):
        def measure(self) -> Iterator[DiskUsage | None]:
            self.measures += 1
            for _ in range(50):
                clock.now += 0.05
                yield None
                if self.fails:
                    return
            yield self.held

    gauge = Inside(blind=True)
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=500)
    watch.begin()
    assert looked(watch, clock, 2.1) == ""
    assert gauge.measures == 1
    clock.now -= 1.0  # it ends before the measure does
    assert watch.end() == "100 MiB"
    assert gauge.measures == 2
