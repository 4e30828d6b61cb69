"""The cache of runs for the web page: reads runs when they change, with running attempts."""

import os
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from agentbench.attempt.logs import AttemptEvent, EventKind, read_events
from agentbench.errors import InputError
from agentbench.extensions.view.run_tags import RunTags
from agentbench.extensions.view.runs_folder import RUN_FILE
from agentbench.report.leaderboard import task_set
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.reading import ATTEMPTS, RunRecords, last_attempt_folders, read_run
from agentbench.runs.store.store import RunStore, is_run_locked
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import StageName

# Only after so many seconds does a folder's time certainly change with its content.
_SETTLED_S = 2.0
# So many summaries take 60 MB.
_MAX_SUMMARIES = 200_000


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
        return f"{self.task}/{self.name}"


class RunningAttempts:
    """Finds the running attempts of one run, and reads only changed folders again."""

    def __init__(self, run: Path) -> None:
        self._attempts = run / "attempts"
        self._changed_at: dict[str, int] = {}  # the time of each task's folder at the last read
        self._open: set[str] = set()

    def update(self, recorded: Collection[str], *, since: datetime) -> list[RunningAttempt]:
        """The attempts that have no record in `recorded`, the oldest first.

        Args:
            recorded: The folders of attempts with a record.
            since: The start of the run's process; older attempts ended with an earlier one.
        """
        with suppress(OSError), os.scandir(self._attempts) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                changed_at = entry.stat(follow_symlinks=False).st_mtime_ns
                if self._changed_at.get(entry.name) == changed_at:
                    continue
                if time.time() - changed_at / 1e9 > _SETTLED_S:
                    self._changed_at[entry.name] = changed_at
                with suppress(OSError), os.scandir(entry.path) as attempts:
                    self._open |= {f"{entry.name}/{attempt.name}" for attempt in attempts}
        self._open = {folder for folder in self._open if folder not in recorded}
        last = last_attempt_folders(self._open)
        running = (read_running_attempt(self._attempts, folder) for folder in last)
        current = [one for one in running if one is not None and one.began >= since]
        return sorted(current, key=lambda one: (one.began, one.folder))


def read_running_attempt(attempts: Path, folder: str) -> RunningAttempt | None:
    """An attempt by its events; None if there are none."""
    # A judged attempt counts as running until its record is written: a page that looked in between
    # took it for one that was cut off, and did not ask again.
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


class FileFingerprint(NamedTuple):
    """A file's identity, size and time of change."""

    inode: int
    size: int
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The fingerprint of a run, which changes if there is something new to read."""

    is_live: bool
    run: FileFingerprint | None
    attempts: FileFingerprint | None


def fingerprint_of(folder: Path) -> Fingerprint:
    """The fingerprint of a run's folder."""
    return Fingerprint(
        is_live=is_run_locked(folder),
        run=_file_fingerprint(folder / RUN_FILE),
        attempts=_file_fingerprint(folder / ATTEMPTS),
    )


def _file_fingerprint(path: Path) -> FileFingerprint | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return FileFingerprint(facts.st_ino, facts.st_size, facts.st_mtime_ns)


_MAX_NAMED = 2  # tasks of a set


class RunPlan(NamedTuple):
    """The start of a run and its tasks, by run.json."""

    began: datetime = datetime.min.replace(tzinfo=UTC)  # the earliest time if it is unknown
    task_set: str = ""  # a digest of the tasks and their contents; empty if they are unknown
    tasks: int = 0
    first_tasks: tuple[str, ...] = ()  # the ids of the first ones
    is_rerun: bool = False  # of the failed attempts of another run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOverview:
    """A run in the list of runs."""

    name: str
    configuration: RunConfiguration | None = None  # None: it cannot be read
    is_live: bool = False
    summary: ResultSummary | None = None  # None: the records cannot be read
    warnings: tuple[str, ...]

    @property
    def planned(self) -> int | None:
        planned = self.configuration
        return planned.planned_attempts if planned is not None else None

    @property
    def ending(self) -> str:
        if self.is_live:
            return "live"
        if self.configuration is None:
            return "unknown"
        ending = self.configuration.ending
        return ending.value if ending is not None else "cut off"


@dataclass(frozen=True, eq=False)
class LiveRun:
    """The current state of one run."""

    folder: Path
    overview: RunOverview
    reading: RunRecords
    _running: RunningAttempts
    tags: RunTags  # of behaviour; empty until a page counts them

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def latest(self) -> Sequence[int]:
        """The numbers of the last records of all attempts."""
        return self.reading.latest()

    @cached_property
    def summaries(self) -> Sequence[AttemptSummary]:
        return [self.reading.summaries[number] for number in self.latest]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of the last record of each folder in attempts/."""
        return {each.folder_name: number for number, each in enumerate(self.reading.summaries)}

    def running_attempts(self) -> list[RunningAttempt]:
        if not self.overview.is_live:
            return []
        # The process that runs the attempts wrote run.json at its start. Attempts that began
        # before that were cut off with an earlier process.
        try:
            began = datetime.fromtimestamp((self.folder / RUN_FILE).stat().st_mtime - 1, UTC)
        except OSError:
            began = datetime.now(UTC)
        return self._running.update(self.numbers, since=began)


@dataclass(slots=True)
class _CachedRun:
    fingerprint: Fingerprint
    run: LiveRun


class RunCache:
    """The cache of runs. Safe to use from several threads."""

    def __init__(self, *, max_summaries: int = _MAX_SUMMARIES) -> None:
        """Create a cache with a limit of summaries; the last requested run always stays."""
        self._max_summaries = max_summaries
        self._lock = Lock()
        self._runs: OrderedDict[Path, _CachedRun] = OrderedDict()
        self._overviews: dict[Path, tuple[Fingerprint, RunOverview]] = {}
        self._running: dict[Path, RunningAttempts] = {}
        self._plans: dict[Path, tuple[int, RunPlan]] = {}

    def run(self, folder: Path) -> LiveRun:
        """The current state of a run.

        Raises:
            InputError: its records are of a newer agentbench.
        """
        with self._lock:
            return self._run(folder)

    def overview(self, folder: Path) -> RunOverview:
        """A run for the list; its faults are among its warnings."""
        # Evicted runs keep their overview, or a list of many runs would read each of them again.
        with self._lock:
            fingerprint = fingerprint_of(folder)
            cached = self._overviews.get(folder)
            if cached is not None and cached[0] == fingerprint:
                return cached[1]
            try:
                overview = self._run(folder).overview
            except InputError as error:
                overview = RunOverview(name=folder.name, warnings=(str(error),))
            self._overviews[folder] = (fingerprint, overview)
            return overview

    def began(self, folder: Path) -> datetime:
        """The start of a run by run.json; the earliest time if it is unknown."""
        return self.plan(folder).began

    def plan(self, folder: Path) -> RunPlan:
        """The start and the tasks of a run by run.json, as far as it can be read."""
        try:
            changed_at = (folder / RUN_FILE).stat().st_mtime_ns
        except OSError:
            return RunPlan()
        cached = self._plans.get(folder)
        if cached is None or cached[0] != changed_at:
            try:
                run = RunStore(folder).configuration()
            except (InputError, OSError):
                plan = RunPlan()
            else:
                plan = RunPlan(
                    began=run.started_at,
                    task_set=task_set((task.id, task.digest) for task in run.tasks),
                    tasks=len(run.tasks),
                    first_tasks=tuple(sorted(task.id for task in run.tasks)[:_MAX_NAMED]),
                    is_rerun=run.rerun_of is not None,
                )
            self._plans[folder] = cached = (changed_at, plan)
        return cached[1]

    def _run(self, folder: Path) -> LiveRun:
        # Before reading: what changes meanwhile is then read again.
        fingerprint = fingerprint_of(folder)
        cached = self._runs.get(folder)
        if cached is None or cached.fingerprint != fingerprint:
            now, before = fingerprint.attempts, cached and cached.fingerprint.attempts
            # A growing file of records is read on from its former end.
            if cached and now and before and now.inode == before.inode and now.size >= before.size:
                reading, tags = cached.run.reading.read_on(), cached.run.tags
            else:
                reading, tags = read_run(folder), RunTags(folder)
            running = self._running.pop(folder, None) or RunningAttempts(folder)
            if fingerprint.is_live:
                self._running[folder] = running
            overview = _overview(folder, reading, is_live=fingerprint.is_live)
            cached = _CachedRun(fingerprint, LiveRun(folder, overview, reading, running, tags))
            self._runs[folder] = cached
        self._runs.move_to_end(folder)
        summary_count = sum(len(each.run.reading.summaries) for each in self._runs.values())
        while summary_count > self._max_summaries and len(self._runs) > 1:
            _, evicted = self._runs.popitem(last=False)
            summary_count -= len(evicted.run.reading.summaries)
        return cached.run


def _overview(folder: Path, reading: RunRecords, *, is_live: bool) -> RunOverview:
    warnings = reading.warnings()
    try:
        configuration = RunStore(folder).configuration()
    except (InputError, OSError) as error:
        configuration, warnings = None, (str(error), *warnings)
    latest = [reading.summaries[number] for number in reading.latest()]
    return RunOverview(
        name=folder.name,
        configuration=configuration,
        is_live=is_live,
        summary=ResultSummary.of(latest),
        warnings=warnings,
    )
