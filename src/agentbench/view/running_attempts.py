"""Finds the attempts of a run that have started and have no record yet."""

import os
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agentbench.attempt.logs import AttemptEvent, EventKind, read_events
from agentbench.scoring.taxonomy import StageName

_RETRY = ".retry-"
_SETTLED_S = 2.0  # seconds after which a folder's time certainly changes with its content


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAttempt:
    """One running attempt."""

    task: str
    name: str  # of its folder: 1, or 1.retry-2
    stage: StageName | None  # None: waiting, or between two stages
    began: datetime
    stage_began: datetime
    done: tuple[AttemptEvent, ...]  # its stages so far

    @property
    def folder(self) -> str:
        """Its folder in attempts/."""
        return f"{self.task}/{self.name}"


class RunningAttempts:
    """Finds the running attempts of one run, and reads only changed folders again."""

    def __init__(self, run: Path) -> None:
        self._attempts = run / "attempts"
        self._changed_at: dict[str, int] = {}  # the time of each task's folder at the last read
        self._open: set[str] = set()

    def update(self, recorded: Collection[str], *, since: datetime) -> list[RunningAttempt]:
        """The attempts that have no record in `recorded`, the oldest first.

        Those that began before `since`, the start of the run's process, ended with an earlier one.

        Args:
            recorded: The folders of attempts with a record.
            since: The start of the run's process; older attempts ended with an earlier one.
        """
        with suppress(OSError), os.scandir(self._attempts) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self._scan_task(entry)
        self._open = {folder for folder in self._open if folder not in recorded}
        running = (
            read_running_attempt(self._attempts, folder) for folder in _last_retries(self._open)
        )
        current = [one for one in running if one is not None and one.began >= since]
        return sorted(current, key=lambda one: (one.began, one.folder))

    def _scan_task(self, task: "os.DirEntry[str]") -> None:
        changed_at = task.stat(follow_symlinks=False).st_mtime_ns
        if self._changed_at.get(task.name) == changed_at:
            return
        if time.time() - changed_at / 1e9 > _SETTLED_S:
            self._changed_at[task.name] = changed_at
        with suppress(OSError), os.scandir(task.path) as entries:
            self._open |= {f"{task.name}/{entry.name}" for entry in entries}


def read_running_attempt(attempts: Path, folder: str) -> RunningAttempt | None:
    """An attempt by its events; None if there are none.

    An attempt that is already judged counts as running, since its record is written a moment
    later.
    """
    try:
        events = read_events(attempts / folder)
    except OSError:
        return None
    if not events:
        return None
    last = events[-1]
    task, _, name = folder.partition("/")
    return RunningAttempt(
        task=task,
        name=name,
        stage=last.stage if last.event is EventKind.STAGE_STARTED else None,
        began=events[0].at,
        stage_began=last.at,
        done=tuple(event for event in events if event.event is EventKind.STAGE_ENDED),
    )


def _last_retries(folders: Collection[str]) -> list[str]:
    """The folder of each attempt's last retry."""
    last: dict[str, tuple[int, str]] = {}
    for folder in folders:
        attempt, _, retry = folder.partition(_RETRY)
        number = attempt.rpartition("/")[2]
        if not number.isdigit() or (retry and not retry.isdigit()):
            continue  # a rescored one, or a foreign folder
        rank = (int(retry or 0), folder)
        last[attempt] = max(rank, last.get(attempt, rank))
    return [folder for _, folder in last.values()]
