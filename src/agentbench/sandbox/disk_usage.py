"""Measures the writable folders of a sandbox, and ends commands that exceed its disk limit.

While a command runs, its loop calls `exceeded` repeatedly. Most calls only read the free space of
the file systems: unless it has shrunk by the sandbox's remaining allowance, the limit cannot be
exceeded. Otherwise, and regularly in any case, the files are measured in slices of time, so that
the loop can serve the command's output and its deadline between them.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

from agentbench.sandbox import trees
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import CommandResult, Ending

_BLOCK = 512  # bytes, the unit of st_blocks on every file system
_STEP = 256  # entries between two pauses
_CHECK_EVERY = 0.1  # seconds
_SLICE = 0.05  # seconds of measuring at one check
_ROUTINE = 5.0  # seconds of running commands between two measurements without a suspicion
_BLIND_ROUTINE = 2.0  # the same if the free space is unknown
_IDLE_FACTOR = 19  # pause in durations of a measurement: these take 5 % of the time
_SUSPICIOUS = 4  # the same if the limit may be exceeded
_SETTLES_WITHIN = 5.0  # seconds of measuring after a command's end


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """An amount of disk space: allocated bytes, and the number of files, folders and links."""

    bytes: int
    files: int


class DiskGauge(Protocol):
    """Measures one sandbox."""

    def free(self) -> DiskUsage | None:
        """The free space of its file systems, which is quick; None if it is unknown."""

    def measure(self) -> Iterator[DiskUsage | None]:
        """Yield the sums so far; the last one is the total. None: nothing is known yet.

        A measurement that fails yields no sum.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderGauge:
    """Measures host folders, and the removed files that processes still hold open."""

    folders: Sequence[Path]
    processes: Callable[[], Iterable[int]]  # the sandbox's known processes

    def free(self) -> DiskUsage | None:
        found: dict[int, os.statvfs_result] = {}
        try:
            for folder in self.folders:
                found[folder.stat().st_dev] = os.statvfs(folder)
        except OSError:
            return None
        return DiskUsage(
            bytes=sum(facts.f_bfree * facts.f_frsize for facts in found.values()),
            files=sum(facts.f_ffree for facts in found.values()),
        )

    def measure(self) -> Iterator[DiskUsage]:
        # Mounts inside need no care: no command can mount another file system there.
        tally = _Tally()
        for folder in self.folders:
            with (
                contextlib.suppress(OSError),
                trees.closing_descriptor(os.open(folder, trees.FOLDER)) as root,
            ):
                for entry in trees.entries_below(root, opened=trees.open_restoring_mode):
                    with contextlib.suppress(OSError):  # the file was removed meanwhile
                        tally.take(entry.stat(follow_symlinks=False))
                    if tally.files % _STEP == 0:
                        yield tally.usage
        devices = set[int]()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                devices.add(folder.stat().st_dev)
        for facts in _nameless(self.processes(), devices):
            tally.take(facts)
        yield tally.usage


class _Tally:
    """Adds up files; the blocks of a file with several names count once."""

    def __init__(self) -> None:
        self.blocks = self.files = 0
        self._linked: set[tuple[int, int]] = set()

    @property
    def usage(self) -> DiskUsage:
        return DiskUsage(bytes=self.blocks * _BLOCK, files=self.files)

    def take(self, facts: os.stat_result) -> None:
        self.files += 1
        if facts.st_nlink != 1 and not stat.S_ISDIR(facts.st_mode):
            identity = facts.st_dev, facts.st_ino
            if identity in self._linked:
                return
            self._linked.add(identity)
        self.blocks += facts.st_blocks


def _nameless(processes: Iterable[int], measured: set[int]) -> Iterator[os.stat_result]:
    # A program can fill the disk with files whose names it has removed. Files in memory are
    # omitted, since they count as memory, except on the measured devices: the folders of a sandbox
    # may be in memory, too.
    in_memory: set[int] | None = None
    for pid in processes:
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if in_memory is None:
                in_memory = _devices_in_memory(pid) - measured
            for descriptor in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    facts = descriptor.stat()
                    nameless = facts.st_nlink == 0 and stat.S_ISREG(facts.st_mode)
                    if nameless and facts.st_dev not in in_memory:
                        yield facts


def _devices_in_memory(pid: int) -> set[int]:
    anonymous = os.memfd_create("agentbench", os.MFD_CLOEXEC)
    devices = {os.fstat(anonymous).st_dev}
    os.close(anonymous)
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        words = line.split()
        if words[words.index("-") + 1] == "tmpfs":
            major, _, minor = words[2].partition(":")
            devices.add(os.makedev(int(major), int(minor)))
    return devices


_NOISE = DiskUsage(bytes=4 << 20, files=64)  # normal changes of the free space


@dataclass(slots=True, kw_only=True)
class _RunningMeasure:
    """A measurement that has begun."""

    free: DiskUsage | None  # at its beginning
    steps: Iterator[DiskUsage | None]
    began: float
    found: DiskUsage | None = None  # the sum so far


class DiskWatch:
    """Watches one sandbox, over all its commands."""

    def __init__(self, gauge: DiskGauge, limits: Limits) -> None:
        self._gauge = gauge
        self._limits = limits
        self._lock = Lock()
        self._known = DiskUsage(bytes=0, files=0)  # by the last measurement
        self._free = gauge.free()  # at its beginning
        self._cost = 0.0  # its seconds
        self._ran = 0.0  # seconds of running commands since then
        self._checked_at = 0.0
        self._running = 0
        self._measure: _RunningMeasure | None = None
        self._exceeded = ""

    def begin(self) -> None:
        with self._lock:
            if not self._running:
                self._exceeded = ""
                self._checked_at = time.monotonic()
            self._running += 1

    def exceeded(self) -> str:
        """The limit that the sandbox exceeds, in words, or nothing; call it repeatedly."""
        now = time.monotonic()
        if now - self._checked_at >= _CHECK_EVERY and self._lock.acquire(blocking=False):
            try:
                self._ran += now - self._checked_at
                self._checked_at = now
                if not self._exceeded and (self._measure is not None or self._is_due()):
                    self._go_on(now + _SLICE)
            finally:
                self._lock.release()
        return self._exceeded

    def end(self, written: DiskUsage | None = None) -> str:
        """Record a command's end; returns the limit that the sandbox exceeds now, or nothing.

        Args:
            written: At most what was written, if that is known. The free space of the disk may not
                show it, since other programs free some.
        """
        with self._lock:
            now = time.monotonic()
            self._running -= 1
            self._ran += now - self._checked_at
            self._checked_at = now
            # A measurement is repeated if the command's end may have ended its process. After a
            # command that exceeded the limit, later ones may use the same amount, but not more.
            was_measuring, self._measure = self._measure is not None, None
            most = self._known
            if written is not None:
                most = DiskUsage(bytes=most.bytes + written.bytes, files=most.files + written.files)
            may_exceed = bool(self._exceeded or self._limit_below(most))
            if may_exceed or was_measuring or self._is_due():
                self._go_on(now + _SETTLES_WITHIN)
                self._measure = None
            return self._exceeded

    def watched(self, run: Callable[[], CommandResult]) -> CommandResult:
        """Run a command; if the sandbox exceeds its limit then, its ending is OUT_OF_DISK."""
        self.begin()
        try:
            result = run()
        finally:
            exceeded = self.end()
        return out_of_disk(result, exceeded)

    def _is_due(self) -> bool:
        free = self._gauge.free()
        if free is None or self._free is None:
            return self._ran >= max(_BLIND_ROUTINE, _IDLE_FACTOR * self._cost)
        allowed, known = self._allowed, self._known
        used_bytes, used_files = self._free.bytes - free.bytes, self._free.files - free.files
        if used_bytes > max(allowed.bytes - known.bytes, _NOISE.bytes) or (
            used_files > max(allowed.files - known.files, _NOISE.files)
        ):
            return self._ran >= _SUSPICIOUS * self._cost
        return self._ran >= max(_ROUTINE, _IDLE_FACTOR * self._cost)

    @property
    def _allowed(self) -> DiskUsage:
        # A usage that already exceeds the limits must not grow; a later command may delete files.
        return DiskUsage(
            bytes=max(self._limits.disk_mib << 20, self._known.bytes),
            files=max(self._limits.files, self._known.files),
        )

    def _go_on(self, until: float) -> None:
        if self._measure is None:
            now, free = time.monotonic(), self._gauge.free()
            self._measure = _RunningMeasure(began=now, free=free, steps=self._gauge.measure())
        measure = self._measure
        for found in measure.steps:
            if found is not None:
                measure.found = found
                self._exceeded = self._exceeded or self._limit_below(found)
            if time.monotonic() >= until:
                return
        self._measure = None
        self._cost, self._ran = time.monotonic() - measure.began, 0.0
        if measure.found is not None:
            self._known, self._free = measure.found, measure.free

    def _limit_below(self, found: DiskUsage) -> str:
        if found.bytes > self._allowed.bytes:
            return f"{self._limits.disk_mib} MiB"
        return f"{self._limits.files} files" if found.files > self._allowed.files else ""


def out_of_disk(result: CommandResult, exceeded: str) -> CommandResult:
    """The result of a command whose sandbox exceeded a limit; the deadline outranks this."""
    if not exceeded or result.ending is Ending.TIMED_OUT:
        return result
    facts = {"ending": Ending.OUT_OF_DISK, "signal": None, "exceeded": exceeded}
    return result.replace(**facts)
