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
from agentbench.report.leaderboard import task_set
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.lines import ATTEMPTS, RecordLines
from agentbench.runs.store.reading import RunRecords, last_retries, read_run
from agentbench.runs.store.store import RunStore, is_run_locked
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import StageName
from agentbench.view.runs_folder import RUN_FILE

_SETTLED_S = 2.0  # seconds after which a folder's time certainly changes with its content
_MAX_SUMMARIES = 200_000  # 60 MB; the most summaries of cached runs


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

        Args:
            recorded: The folders of attempts with a record.
            since: The start of the run's process; older attempts ended with an earlier one.
        """
        with suppress(OSError), os.scandir(self._attempts) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self._scan_task(entry)
        self._open = {folder for folder in self._open if folder not in recorded}
        last = last_retries(self._open)
        running = (read_running_attempt(self._attempts, folder) for folder in last)
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


class FileFingerprint(NamedTuple):
    """A file's identity, size and time of change."""

    inode: int
    size: int
    changed_at: int

    def continues(self, before: "FileFingerprint | None") -> bool:
        """Whether it is the same file, perhaps with more at its end."""
        return before is not None and self.inode == before.inode and self.size >= before.size


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


class RunPlan(NamedTuple):
    """The start of a run and its tasks, by run.json."""

    began: datetime = datetime.min.replace(tzinfo=UTC)  # the earliest time if it is unknown
    task_set: str = ""  # a digest of the tasks and their contents; empty if they are unknown
    tasks: int = 0
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
        """The number of planned attempts."""
        planned = self.configuration
        return planned.planned_attempts if planned is not None else None

    @property
    def ending(self) -> str:
        """Its ending in a word or two."""
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

    @property
    def name(self) -> str:
        """Its id."""
        return self.folder.name

    @cached_property
    def latest(self) -> Sequence[int]:
        """The numbers of the last records of all attempts."""
        return self.reading.latest()

    @cached_property
    def summaries(self) -> Sequence[AttemptSummary]:
        """The last summaries of all attempts."""
        return [self.reading.summaries[number] for number in self.latest]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of the last record of each folder in attempts/."""
        return {each.folder_name: number for number, each in enumerate(self.reading.summaries)}

    def running_attempts(self) -> list[RunningAttempt]:
        """The running attempts."""
        if not self.overview.is_live:
            return []
        return self._running.update(self.numbers, since=self._process_began())

    def _process_began(self) -> datetime:
        """The start of the process that runs the attempts, when it wrote run.json."""
        try:
            return datetime.fromtimestamp((self.folder / RUN_FILE).stat().st_mtime - 1, UTC)
        except OSError:
            return datetime.now(UTC)


@dataclass(slots=True)
class _CachedRun:
    fingerprint: Fingerprint
    run: LiveRun
    lines: RecordLines | None = None  # of a live run, for reading further lines


class RunCache:
    """The cache of runs. Safe to use from several threads."""

    def __init__(self, *, processes: int = 1, max_summaries: int = _MAX_SUMMARIES) -> None:
        """Create a cache with a limit of summaries; the last requested run always stays."""
        self._processes = processes
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
            self._plans[folder] = cached = (changed_at, _read_plan(folder))
        return cached[1]

    def _run(self, folder: Path) -> LiveRun:
        fingerprint = fingerprint_of(folder)  # before reading, so that changes are read again
        cached = self._runs.get(folder)
        if cached is None or cached.fingerprint != fingerprint:
            cached = self._read(folder, fingerprint, cached)
            self._runs[folder] = cached
        self._runs.move_to_end(folder)
        self._evict()
        return cached.run

    def _read(
        self, folder: Path, fingerprint: Fingerprint, before: _CachedRun | None
    ) -> _CachedRun:
        lines = _appendable_lines(before, fingerprint) if before is not None else None
        if lines is not None:
            lines.read_on(whole_lines=True)
            reading = RunRecords(
                path=lines.path,
                summaries=tuple(lines.summaries),
                offsets=lines.starts[:],
                set_aside=tuple(lines.set_aside),
            )
        else:
            reading = read_run(folder, processes=self._processes)
        running = self._running.pop(folder, None) or RunningAttempts(folder)
        if fingerprint.is_live:
            self._running[folder] = running
        overview = _overview(folder, reading, is_live=fingerprint.is_live)
        return _CachedRun(fingerprint, LiveRun(folder, overview, reading, running), lines)

    def _evict(self) -> None:
        summary_count = sum(len(cached.run.reading.summaries) for cached in self._runs.values())
        while summary_count > self._max_summaries and len(self._runs) > 1:
            _, gone = self._runs.popitem(last=False)
            summary_count -= len(gone.run.reading.summaries)


def _read_plan(folder: Path) -> RunPlan:
    try:
        run = RunStore(folder).configuration()
    except (InputError, OSError):
        return RunPlan()
    return RunPlan(
        began=run.started_at,
        task_set=task_set((task.id, task.digest) for task in run.tasks),
        tasks=len(run.tasks),
        is_rerun=run.rerun_of is not None,
    )


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


def _appendable_lines(before: _CachedRun, now: Fingerprint) -> RecordLines | None:
    """The cached records of a live run with its new lines; None if all must be read again."""
    reading = before.run.reading
    is_longer = now.attempts is not None and now.attempts.continues(before.fingerprint.attempts)
    if not now.is_live or not is_longer:
        return None
    if reading.adopted or reading.set_aside or not reading.summaries:
        return None  # the order of records may change, or reading all is as fast
    return before.lines or _lines_of(reading)


def _lines_of(reading: RunRecords) -> RecordLines:
    with reading.path.open("rb") as source:
        source.seek(reading.offsets[-1])
        source.readline()
        end = source.tell()
    return RecordLines(
        path=reading.path,
        summaries=list(reading.summaries),
        starts=reading.offsets[:],
        count=len(reading.summaries),
        end=end,
    )
