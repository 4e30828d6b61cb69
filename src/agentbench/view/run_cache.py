"""Caches runs, and reads the changed parts of their files again."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from agentbench.errors import InputError
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.lines import ATTEMPTS, RecordLines
from agentbench.runs.store.reading import RunRecords
from agentbench.runs.store.store import RunStore, is_run_locked
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.view.running_attempts import RunningAttempt, RunningAttempts

RUN_FILE = "run.json"


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
        told = path.stat()
    except OSError:
        return None
    return FileFingerprint(told.st_ino, told.st_size, told.st_mtime_ns)


_MAX_SUMMARIES = 200_000  # 60 MB; the most summaries of cached runs
_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOverview:
    """A run in the list of runs."""

    name: str
    configuration: RunConfiguration | None  # None: it cannot be read
    is_live: bool
    summary: ResultSummary | None  # None: the records cannot be read
    warnings: tuple[str, ...]

    @property
    def planned(self) -> int | None:
        """The number of planned attempts."""
        asked = self.configuration
        return len(asked.tasks) * asked.attempts if asked is not None else None

    @property
    def ending(self) -> str:
        """Its ending in a word or two."""
        asked = self.configuration
        if self.is_live:
            return "live"
        if asked is None:
            return "unknown"
        return asked.ending.value if asked.ending is not None else "cut off"


class LiveRun:
    """The current state of one run."""

    def __init__(
        self, folder: Path, glance: RunOverview, reading: RunRecords, watch: RunningAttempts
    ) -> None:
        self.folder = folder
        self.overview = glance
        self.reading = reading
        self._watch = watch

    @property
    def name(self) -> str:
        """Its id."""
        return self.folder.name

    @cached_property
    def latest(self) -> Sequence[int]:
        """The numbers of the last records of all attempts."""
        return self.reading.latest()

    @cached_property
    def headlines(self) -> Sequence[AttemptSummary]:
        """The last summaries of all attempts."""
        return [self.reading.headlines[number] for number in self.latest]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of the last record of each folder in attempts/."""
        return {told.place: number for number, told in enumerate(self.reading.headlines)}

    def under_way(self) -> list[RunningAttempt]:
        """The running attempts."""
        return (
            self._watch.update(self.numbers, since=self._began()) if self.overview.is_live else []
        )

    def _began(self) -> datetime:
        """The start of the process that runs the attempts, when it wrote run.json."""
        try:
            return datetime.fromtimestamp((self.folder / RUN_FILE).stat().st_mtime - 1, UTC)
        except OSError:
            return datetime.now(UTC)


@dataclass(slots=True)
class _CachedRun:
    stamp: Fingerprint
    run: LiveRun
    lines: RecordLines | None = None  # of a live run, for reading further lines


class RunCache:
    """The cache of runs. Safe to use from several threads."""

    def __init__(self, *, processes: int = 1, most_headlines: int = _MAX_SUMMARIES) -> None:
        """Create a cache with a limit of summaries; the last requested run always stays."""
        self._processes = processes
        self._most = most_headlines
        self._lock = Lock()
        self._kept: OrderedDict[Path, _CachedRun] = OrderedDict()
        self._glances: dict[Path, tuple[Fingerprint, RunOverview]] = {}
        self._watches: dict[Path, RunningAttempts] = {}
        self._began: dict[Path, tuple[int, datetime]] = {}

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
            stamp = fingerprint_of(folder)
            kept = self._glances.get(folder)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            try:
                glance = self._run(folder).overview
            except InputError as error:
                glance = RunOverview(
                    name=folder.name,
                    configuration=None,
                    is_live=False,
                    summary=None,
                    warnings=(str(error),),
                )
            self._glances[folder] = (stamp, glance)
            return glance

    def began(self, folder: Path) -> datetime:
        """The start of a run by run.json; the earliest time if it is unknown."""
        try:
            stamp = (folder / RUN_FILE).stat().st_mtime_ns
        except OSError:
            return _UNKNOWN
        kept = self._began.get(folder)
        if kept is None or kept[0] != stamp:
            try:
                began = RunStore(folder).configuration().started_at
            except (InputError, OSError):
                began = _UNKNOWN
            self._began[folder] = kept = (stamp, began)
        return kept[1]

    def _run(self, folder: Path) -> LiveRun:
        stamp = fingerprint_of(folder)  # before reading, so that later changes are read again
        kept = self._kept.get(folder)
        if kept is None or kept.stamp != stamp:
            kept = self._read(folder, stamp, kept)
            self._kept[folder] = kept
        self._kept.move_to_end(folder)
        self._evict()
        return kept.run

    def _read(self, folder: Path, stamp: Fingerprint, before: _CachedRun | None) -> _CachedRun:
        is_live = stamp.is_live
        lines = _appendable_lines(before, stamp) if before is not None else None
        if lines is not None:
            lines.read_on(whole_lines=True)
            reading = RunRecords(
                path=lines.path,
                headlines=tuple(lines.headlines),
                places=lines.starts[:],
                set_aside=tuple(lines.set_aside),
                adopted=(),
            )
        else:
            reading = RunStore(folder).reading(processes=self._processes)
        watch = (
            self._watches.setdefault(folder, RunningAttempts(folder))
            if is_live
            else RunningAttempts(folder)
        )
        run = LiveRun(folder, _overview(folder, reading, is_live=is_live), reading, watch)
        if not is_live:
            self._watches.pop(folder, None)
        return _CachedRun(stamp, run, lines)

    def _evict(self) -> None:
        held = sum(len(kept.run.reading.headlines) for kept in self._kept.values())
        while held > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            held -= len(gone.run.reading.headlines)


def _overview(folder: Path, reading: RunRecords, *, is_live: bool) -> RunOverview:
    warnings = reading.warnings()
    try:
        configuration = RunStore(folder).configuration()
    except (InputError, OSError) as error:
        configuration, warnings = None, (str(error), *warnings)
    latest = [reading.headlines[number] for number in reading.latest()]
    return RunOverview(
        name=folder.name,
        configuration=configuration,
        is_live=is_live,
        summary=ResultSummary.of(latest),
        warnings=warnings,
    )


def _appendable_lines(before: _CachedRun, stamp: Fingerprint) -> RecordLines | None:
    """The cached records of a live run with its new lines; None if all must be read again."""
    reading = before.run.reading
    if (
        not stamp.is_live
        or stamp.attempts is None
        or not stamp.attempts.continues(before.stamp.attempts)
    ):
        return None
    if reading.adopted or reading.set_aside or not reading.headlines:
        return None  # the order of records may change, or reading all is as fast
    return before.lines or _lines_of(reading)


def _lines_of(reading: RunRecords) -> RecordLines:
    with reading.path.open("rb") as source:
        source.seek(reading.places[-1])
        source.readline()
        end = source.tell()
    return RecordLines(
        path=reading.path,
        headlines=list(reading.headlines),
        starts=reading.places[:],
        count=len(reading.headlines),
        end=end,
    )
