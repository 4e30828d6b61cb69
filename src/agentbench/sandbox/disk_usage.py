"""Measures what the writable folders of a sandbox hold.

Ends a command whose sandbox holds more than its limit.

While a command runs, its loop asks `exceeded` again and again. Most answers cost one look at what
the file system has left: unless that has shrunk by as much as the sandbox may still take, it cannot
be over. Where it may be, and now and then in any case, its files are measured, a slice of time
after the other, so that the command's output and its deadline are attended to meanwhile.
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

from agentbench.sandbox.interface import Limits
from agentbench.sandbox.walk import FOLDER, entries_below, open_restoring_mode
from agentbench.scoring.evidence import CommandResult, Ending

_BLOCK = 512  # bytes, whatever the file system's own blocks are
_STEP = 256  # entries between two pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """An amount of disk: bytes that are allocated, and how many files, folders and links."""

    bytes: int
    files: int


class DiskGauge(Protocol):
    """Measures one sandbox."""

    def free(self) -> DiskUsage | None:
        """What its file systems have left, as fast as it can be asked; None: nobody knows."""

    def measure(self) -> Iterator[DiskUsage | None]:
        """The sum so far, again and again; the last one is the whole. None: nothing known yet.

        A measure that fails ends before it has said anything.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderGauge:
    """Measures folders of this machine, and the files that processes hold open without a name."""

    folders: Sequence[Path]
    processes: Callable[[], Iterable[int]]  # those of the sandbox, as far as they are known

    def free(self) -> DiskUsage | None:
        """What the file systems of the folders have left."""
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
        """The sum so far. Other file systems are not left out: nobody can mount one in there."""
        tally = _Tally()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                root = os.open(folder, FOLDER)
                try:
                    for entry in entries_below(root, opened=open_restoring_mode):
                        with contextlib.suppress(OSError):  # it was removed meanwhile
                            tally.take(entry.stat(follow_symlinks=False))
                        if tally.files % _STEP == 0:
                            yield tally.usage
                finally:
                    os.close(root)
        for facts in _nameless(self.processes(), set(_devices_of(self.folders))):
            tally.take(facts)
        yield tally.usage


class _Tally:
    """Adds up files; one with several names takes its blocks once."""

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


def _devices_of(folders: Iterable[Path]) -> Iterator[int]:
    for folder in folders:
        with contextlib.suppress(OSError):
            yield folder.stat().st_dev


def _nameless(processes: Iterable[int], measured: set[int]) -> Iterator[os.stat_result]:
    """The regular files that processes hold open although their names are removed.

    Files in memory are left out, since they count as memory, but not on the measured devices:
    a sandbox whose folders lie in memory writes there what it would write to a disk.
    """
    in_memory: set[int] | None = None
    for pid in processes:
        with contextlib.suppress(OSError):  # the process ended, or is not ours to look at
            if in_memory is None:
                in_memory = _devices_in_memory(pid) - measured
            for descriptor in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    facts = descriptor.stat()
                    nameless = facts.st_nlink == 0 and stat.S_ISREG(facts.st_mode)
                    if nameless and facts.st_dev not in in_memory:
                        yield facts


def _devices_in_memory(pid: int) -> set[int]:
    """The devices of its file systems that take memory, not disk."""
    anonymous = os.memfd_create("agentbench", os.MFD_CLOEXEC)
    devices = {os.fstat(anonymous).st_dev}
    os.close(anonymous)
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        words = line.split()
        if words[words.index("-") + 1] == "tmpfs":
            major, _, minor = words[2].partition(":")
            devices.add(os.makedev(int(major), int(minor)))
    return devices


_LOOK_EVERY = 0.1  # seconds
_SLICE = 0.05  # seconds of measuring at one look
_ROUTINE = 5.0  # seconds that commands run before they are measured without a suspicion
_BLIND_ROUTINE = 2.0  # the same where nothing cheaper tells of a growth
_SPARED = 19  # times a measure's cost that pass before the next one: it takes 5 % of the time
_SUSPICIOUS = 4  # the same when the limit may have been passed
_NOISE = DiskUsage(bytes=4 << 20, files=64)  # by which a file system shrinks in any case
_SETTLES_WITHIN = 5.0  # seconds that are measured after a command's end


@dataclass(slots=True, kw_only=True)
class _RunningMeasure:
    """A measure under way."""

    free: DiskUsage | None  # on the file systems when it began
    steps: Iterator[DiskUsage | None]
    began: float
    found: DiskUsage | None = None  # so far


class DiskWatch:
    """Watches one sandbox, over all its commands."""

    def __init__(self, gauge: DiskGauge, limits: Limits) -> None:
        """Watch what a gauge shows; nothing is measured yet."""
        self._gauge = gauge
        self._limits = limits
        self._lock = Lock()
        self._known = DiskUsage(bytes=0, files=0)  # what the last measure found
        self._free = gauge.free()  # when it was made
        self._cost = 0.0  # seconds that it took
        self._ran = 0.0  # seconds that commands have run since
        self._looked_at = 0.0
        self._running = 0
        self._measure: _RunningMeasure | None = None
        self._exceeded = ""

    def begin(self) -> None:
        """A command starts."""
        with self._lock:
            if not self._running:
                self._exceeded = ""
                self._looked_at = time.monotonic()
            self._running += 1

    def exceeded(self) -> str:
        """The limit that the sandbox is over, in words, or nothing. To be asked all the time."""
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_EVERY and self._lock.acquire(blocking=False):
            try:
                self._ran += now - self._looked_at
                self._looked_at = now
                if not self._exceeded and (self._measure is not None or self._is_due()):
                    self._go_on(now + _SLICE)
            finally:
                self._lock.release()
        return self._exceeded

    def end(self) -> str:
        """A command ended: the limit that the sandbox is over by it, in words, or nothing."""
        with self._lock:
            now = time.monotonic()
            self._running -= 1
            self._ran += now - self._looked_at
            self._looked_at = now
            # What was under way may have been killed with the command: it is begun anew. Once a
            # command was ended for it, what is held now is what later ones may not add to.
            was_measuring, self._measure = self._measure is not None, None
            if self._exceeded or was_measuring or self._is_due():
                self._go_on(now + _SETTLES_WITHIN)
                self._measure = None
            return self._exceeded

    def _is_due(self) -> bool:
        free = self._gauge.free()
        if free is None or self._free is None:
            return self._ran >= max(_BLIND_ROUTINE, _SPARED * self._cost)
        if self._may_have_passed(free):
            return self._ran >= _SUSPICIOUS * self._cost
        return self._ran >= max(_ROUTINE, _SPARED * self._cost)

    def _may_have_passed(self, free: DiskUsage) -> bool:
        """Whether the file systems lost as much as the sandbox might take."""
        assert self._free is not None
        allowed, known = self._allowed, self._known
        lost_bytes, lost_files = self._free.bytes - free.bytes, self._free.files - free.files
        return lost_bytes > max(allowed.bytes - known.bytes, _NOISE.bytes) or (
            lost_files > max(allowed.files - known.files, _NOISE.files)
        )

    @property
    def _allowed(self) -> DiskUsage:
        """The limits; what is over them already may shrink or stay, not grow."""
        return DiskUsage(
            bytes=max(self._limits.disk_mib << 20, self._known.bytes),
            files=max(self._limits.files, self._known.files),
        )

    def _go_on(self, until: float) -> None:
        """Measure until a moment; what is learned counts when the measure is whole."""
        if self._measure is None:
            now, free = time.monotonic(), self._gauge.free()
            self._measure = _RunningMeasure(began=now, free=free, steps=self._gauge.measure())
        measure = self._measure
        for found in measure.steps:
            if found is not None:
                measure.found = found
                self._exceeded = self._exceeded or self._judged(found)
            if time.monotonic() >= until:
                return
        self._measure = None
        self._cost, self._ran = time.monotonic() - measure.began, 0.0
        if measure.found is not None:
            self._known, self._free = measure.found, measure.free

    def _judged(self, found: DiskUsage) -> str:
        if found.bytes > self._allowed.bytes:
            return f"{self._limits.disk_mib} MiB"
        return f"{self._limits.files} files" if found.files > self._allowed.files else ""


def out_of_disk(result: CommandResult, exceeded: str) -> CommandResult:
    """The result of a command whose sandbox went over a limit; the deadline outranks that."""
    if not exceeded or result.ending is Ending.TIMED_OUT:
        return result
    facts = {"ending": Ending.OUT_OF_DISK, "signal": None, "exceeded": exceeded}
    return result.model_copy(update=facts)
