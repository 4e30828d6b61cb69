"""What tells, without reading them, whether a run's files have changed."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agentbench.runs.lines import ATTEMPTS
from agentbench.runs.run_lock import is_held

RUN = "run.json"


class FileStamp(NamedTuple):
    """Which file it is, how long, and when it was changed."""

    inode: int
    size: int
    changed_at: int

    def goes_on(self, before: "FileStamp | None") -> bool:
        """Whether it is an earlier file with more at its end, or the same."""
        return before is not None and self.inode == before.inode and self.size >= before.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Of a run: changes whenever there is something new to read."""

    is_live: bool
    run: FileStamp | None
    attempts: FileStamp | None


def stamp_of(folder: Path) -> Stamp:
    """The stamp of a run's folder."""
    return Stamp(
        is_live=is_held(folder),
        run=_file_stamp(folder / RUN),
        attempts=_file_stamp(folder / ATTEMPTS),
    )


def _file_stamp(path: Path) -> FileStamp | None:
    try:
        told = path.stat()
    except OSError:
        return None
    return FileStamp(told.st_ino, told.st_size, told.st_mtime_ns)
