"""What the writable places of a sandbox hold at the moment, measured from outside of it."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentbench.sandbox.deep_walk import entries_below
from agentbench.sandbox.no_follow import FOLDER, open_and_lock

_BLOCK = 512  # bytes, whatever the file system's own blocks are
_STEP = 256  # entries between two pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """An amount of disk: bytes that are allocated, and how many files, folders and links."""

    bytes: int
    files: int


class Gauge(Protocol):
    """Measures one sandbox."""

    def free(self) -> Usage | None:
        """What its file systems have left, as fast as it can be asked; None: nobody knows."""

    def measure(self) -> Iterator[Usage | None]:
        """The sum so far, again and again; the last one is the whole. None: nothing known yet.

        A measure that fails ends before it has said anything.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderGauge:
    """Measures folders of this machine, and the files that processes hold open without a name."""

    folders: Sequence[Path]
    processes: Callable[[], Iterable[int]]  # those of the sandbox, as far as they are known

    def free(self) -> Usage | None:
        """What the file systems of the folders have left."""
        found: dict[int, os.statvfs_result] = {}
        try:
            for folder in self.folders:
                found[folder.stat().st_dev] = os.statvfs(folder)
        except OSError:
            return None
        return Usage(
            bytes=sum(facts.f_bfree * facts.f_frsize for facts in found.values()),
            files=sum(facts.f_ffree for facts in found.values()),
        )

    def measure(self) -> Iterator[Usage]:
        """The sum so far. Other file systems are not left out: nobody can mount one in there."""
        tally = _Tally()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                yield from _walk(folder, tally)
        for facts in _nameless(self.processes(), set(_devices_of(self.folders))):
            tally.take(facts)
        yield tally.usage


class _Tally:
    """Adds up files; one with several names takes its blocks once."""

    def __init__(self) -> None:
        self.blocks = self.files = 0
        self._linked: set[tuple[int, int]] = set()

    @property
    def usage(self) -> Usage:
        return Usage(bytes=self.blocks * _BLOCK, files=self.files)

    def take(self, facts: os.stat_result) -> None:
        self.files += 1
        if facts.st_nlink != 1 and not stat.S_ISDIR(facts.st_mode):
            identity = facts.st_dev, facts.st_ino
            if identity in self._linked:
                return
            self._linked.add(identity)
        self.blocks += facts.st_blocks


def _walk(folder: Path, tally: _Tally) -> Iterator[Usage]:
    root = os.open(folder, FOLDER)
    try:
        for entry in entries_below(root, opened=open_and_lock):
            with contextlib.suppress(OSError):  # it was removed meanwhile
                tally.take(entry.stat(follow_symlinks=False))
            if tally.files % _STEP == 0:
                yield tally.usage
    finally:
        os.close(root)


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
