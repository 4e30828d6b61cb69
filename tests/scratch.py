"""Where the tests write: in memory, where there is room, since they make many thousand files.

On some disks, removing the files of a sandbox takes longer than all that a test does with them.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM_BYTES = 8 << 30
"""What must be free; all the tests together need a quarter of it."""

_FOR_EVERYBODY = 0o1777  # sandboxes run as another user, who makes files of their own there


@contextmanager
def temporary_folder(environ: Mapping[str, str]) -> Iterator[str]:
    """A folder for all that tests and programs leave, removed at the end."""
    parent = scratch_folder(environ)
    with tempfile.TemporaryDirectory(prefix="ab-", dir=parent, ignore_cleanup_errors=True) as made:
        Path(made).chmod(_FOR_EVERYBODY)
        yield made


def scratch_folder(environ: Mapping[str, str], memory: Path = MEMORY) -> Path:
    """The parent of all temporary folders: TMPDIR if it is set, else memory, else the disk."""
    if "TMPDIR" not in environ and _is_of_use(memory):
        return memory
    return Path(tempfile.gettempdir())


def _is_of_use(memory: Path) -> bool:
    """Whether programs can run from there, and enough is free, of that folder and of memory."""
    try:
        facts, free = os.statvfs(memory), _free_memory_bytes()
        mode = memory.stat().st_mode & 0o7777
    except OSError:
        return False
    return mode == _FOR_EVERYBODY and has_room_for_programs(facts, free)


def has_room_for_programs(facts: os.statvfs_result, free_memory_bytes: int) -> bool:
    """Whether a file system lets programs run, and has room within the free memory."""
    room = min(facts.f_bavail * facts.f_frsize, free_memory_bytes)
    return room >= ROOM_BYTES and not facts.f_flag & os.ST_NOEXEC


def _free_memory_bytes() -> int:
    """What Linux says is available without swapping.

    Raises:
        OSError: This is no Linux.
    """
    lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
