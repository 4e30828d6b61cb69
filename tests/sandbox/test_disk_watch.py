"""When is measured, and what is over; time and disk are those of a fake gauge."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from agentbench.sandbox import disk_usage
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch, out_of_disk
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import CommandResult, Ending

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
        if said := watch.exceeded():
            return said
    return ""


def ran(watch: DiskWatch, clock: Clock, seconds: float) -> str:
    """What is said of a command that ran so long."""
    watch.begin()
    said = looked(watch, clock, seconds)
    return watch.end() or said


def test_a_sandbox_within_its_limits_is_measured_now_and_then_only(clock: Clock) -> None:
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
def test_what_goes_over_a_limit_is_told_at_the_next_look(
    clock: Clock, mib: int, files: int, words: str
) -> None:
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    watch.begin()
    gauge.hold(mib=mib, files=files)
    assert looked(watch, clock, 0.3) == words
    assert watch.end() == words


def test_a_command_that_ends_before_the_first_look_is_held_to_it_too(clock: Clock) -> None:
    del clock  # which stands still
    gauge = FakeGauge()
    watch = DiskWatch(gauge, LIMITS)
    watch.begin()
    gauge.hold(mib=500)
    assert watch.end() == "100 MiB"


def test_what_others_write_costs_a_measure_and_is_not_charged(clock: Clock) -> None:
    gauge = FakeGauge(taken_by_others=DiskUsage(bytes=0, files=0))
    watch = DiskWatch(gauge, LIMITS)
    gauge.taken_by_others = DiskUsage(bytes=5_000 * MIB, files=50_000)
    assert ran(watch, clock, 1) == ""
    assert gauge.measures == 1


def test_growth_that_others_hide_is_found_in_the_end(clock: Clock) -> None:
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


def test_after_it_was_told_a_command_may_clean_up_and_not_add(clock: Clock) -> None:
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


def test_where_nothing_tells_of_growth_it_is_measured_more_often(clock: Clock) -> None:
    gauge = FakeGauge(blind=True)
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=101)
    assert ran(watch, clock, 1) == ""
    assert ran(watch, clock, 1.5) == "100 MiB"


def test_a_measure_that_fails_says_nothing(clock: Clock) -> None:
    gauge = FakeGauge(fails=True)
    watch = DiskWatch(gauge, LIMITS)
    gauge.hold(mib=500)
    assert ran(watch, clock, 10) == ""
    gauge.fails = False
    assert ran(watch, clock, 10) == "100 MiB"


def test_a_costly_measure_takes_a_small_part_of_the_time(clock: Clock) -> None:
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


def test_the_commands_loop_is_not_held_up_by_a_long_measure(clock: Clock) -> None:
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


def test_two_commands_at_once_are_told_the_same(clock: Clock) -> None:
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


def test_the_result_says_what_was_exceeded_unless_the_deadline_came_first() -> None:
    killed = out_of_disk(result(Ending.KILLED, 137), "100 MiB")
    assert (killed.ending, killed.exceeded, killed.signal) == (Ending.OUT_OF_DISK, "100 MiB", None)
    assert out_of_disk(result(Ending.EXITED, 0), "1 files").ok is False
    late = result(Ending.TIMED_OUT, None)
    assert out_of_disk(late, "100 MiB") == late
    fine = result(Ending.EXITED, 0)
    assert out_of_disk(fine, "") == fine


def test_a_measure_that_dies_with_its_command_is_made_after_it(clock: Clock) -> None:
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
