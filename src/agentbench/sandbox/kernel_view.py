"""The kernel's files as a sandbox sees them, and its private copies of our files.

Counters of the whole machine in /proc and /sys, and locks on files of one inode, let sandboxes
signal to each other: see docs/integrity.md, "Side channels between sandboxes". So the files with
such counters are hidden. Fixed files replace those that ordinary programs read.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from agentbench.sandbox.interface import ReadOnlyMount

HIDDEN_IN_PROC = (
    "/proc/buddyinfo", "/proc/crypto", "/proc/diskstats", "/proc/fs", "/proc/interrupts",
    "/proc/irq", "/proc/key-users", "/proc/keys", "/proc/locks", "/proc/pagetypeinfo",
    "/proc/pressure", "/proc/schedstat", "/proc/slabinfo", "/proc/softirqs", "/proc/swaps",
    "/proc/vmallocinfo", "/proc/vmstat", "/proc/zoneinfo", "/proc/sys/fs/aio-nr",
    "/proc/sys/fs/dentry-state", "/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr",
    "/proc/sys/fs/inode-state", "/proc/sys/fs/quota", "/proc/sys/kernel/pty/nr",
    "/proc/sys/kernel/random/entropy_avail",
)  # fmt: skip
"""Files and folders with counters of the whole machine."""
_FREQUENCIES = Path("/sys/devices/system/cpu/cpufreq")
_MEMORY = re.compile(rb"^(\w[^:]*):.*$", re.MULTILINE)
_OWN_MEMORY = (b"MemTotal", b"MemFree", b"MemAvailable", b"CommitLimit")
_FIXED_MEMORY = (b"Hugepagesize", b"VmallocTotal")


def stand_ins(memory_mib: int) -> Mapping[str, bytes]:
    """The contents of fixed files for /proc, by name; none if this machine has no such folder.

    The memory is the sandbox's own. Processors are the machine's, as in `sched_getaffinity`.
    """
    try:
        processors, memory, pages, boot_time = _constants()
    except OSError:
        return {}

    def amount(found: "re.Match[bytes]") -> bytes:
        if found[1] in _FIXED_MEMORY:
            return found[0]
        value = memory_mib << 10 if found[1] in _OWN_MEMORY else 0
        return b"%-16s%8d kB" % (found[1] + b":", value)

    up = time.clock_gettime(time.CLOCK_BOOTTIME)
    idle = b"0 0 0 %d 0 0 0 0 0 0\n" % (up * os.sysconf("SC_CLK_TCK"))
    names = re.findall(rb"^processor\s*:\s*(\d+)", processors, re.MULTILINE)
    lines = [b"cpu  " + idle, *(b"cpu%s " % name + idle for name in names)]
    counts = (
        b"intr 0\nctxt 0\nbtime %d\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n" % boot_time
    )
    changing = {"cpuinfo": processors} if any(_FREQUENCIES.glob("*")) else {}
    return changing | {
        "loadavg": b"0.00 0.00 0.00 1/1 1\n",
        "meminfo": _MEMORY.sub(amount, memory),
        "stat": b"".join(lines) + counts,
        "uptime": b"%.2f %.2f\n" % (up, up * len(names)),
        "vmstat": re.sub(rb"\d+$", b"0", pages, flags=re.MULTILINE),
    }


@cache
def _constants() -> tuple[bytes, bytes, bytes, int]:
    """The files cpuinfo, meminfo and vmstat, and the time of the machine's start.

    Read once, so that they are the same in all sandboxes: frequencies change with the load.
    """
    proc = Path("/proc")
    found = re.search(rb"^btime (\d+)$", (proc / "stat").read_bytes(), re.MULTILINE)
    started = 0 if found is None else int(found[1])
    files = [(proc / name).read_bytes() for name in ("cpuinfo", "meminfo", "vmstat")]
    return files[0], files[1], files[2], started


def private_copies(mounts: Iterable[ReadOnlyMount], folder: Path) -> Iterator[ReadOnlyMount]:
    """The mounts, with copies in a folder that all users can read; live and shared ones stay.

    Times are those of the sources, since byte-code is valid for them.

    Raises:
        OSError: a source cannot be read, or the disk is full.
    """
    for mount in mounts:
        if mount.live or mount.shared:
            yield mount
            continue
        target = folder / mount.name
        if mount.source.is_dir():
            shutil.copytree(mount.source, target, copy_function=_copy_file)
            for copied, _, _ in os.walk(target):
                Path(copied).chmod(0o755)  # this leaves the time of modification
        else:
            _copy_file(mount.source, target)
        yield replace(mount, source=target)


def _copy_file(source: str | Path, target: str | Path) -> None:
    shutil.copy2(source, target)
    copied = Path(target)
    copied.chmod(0o755 if copied.stat().st_mode & stat.S_IXUSR else 0o644)
