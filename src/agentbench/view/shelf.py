"""Runs as they are now: read when they have changed, and as far as they have changed."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock

from agentbench.errors import InputError
from agentbench.report.summary import Summary
from agentbench.runs.configuration import RunConfiguration
from agentbench.runs.headline import Headline
from agentbench.runs.lines import Lines
from agentbench.runs.reading import Reading
from agentbench.runs.store import RunStore
from agentbench.view.stamp import RUN, Stamp, stamp_of
from agentbench.view.under_way import UnderWay, Watch

_MOST_HEADLINES = 200_000  # 60 MB of them: what is kept of runs that nobody looks at
_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What a list of runs tells of one of them."""

    name: str
    configuration: RunConfiguration | None  # None: it cannot be read
    is_live: bool
    summary: Summary | None  # None: the records cannot be read
    warnings: tuple[str, ...]

    @property
    def planned(self) -> int | None:
        """How many attempts the run is to make."""
        asked = self.configuration
        return len(asked.tasks) * asked.attempts if asked is not None else None

    @property
    def ending(self) -> str:
        """How it ended, in a word or two."""
        asked = self.configuration
        if self.is_live:
            return "live"
        if asked is None:
            return "unknown"
        return asked.ending.value if asked.ending is not None else "cut off"


class RunNow:
    """One run as it is now."""

    def __init__(self, folder: Path, glance: Glance, reading: Reading, watch: Watch) -> None:
        self.folder = folder
        self.glance = glance
        self.reading = reading
        self._watch = watch

    @property
    def name(self) -> str:
        """Its id, as addresses have it."""
        return self.folder.name

    @cached_property
    def latest(self) -> Sequence[int]:
        """Of each attempt the last record's number."""
        return self.reading.latest()

    @cached_property
    def headlines(self) -> Sequence[Headline]:
        """Of each attempt the last one."""
        return [self.reading.headlines[number] for number in self.latest]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Of each place below attempts/ the last record's number."""
        return {told.place: number for number, told in enumerate(self.reading.headlines)}

    def under_way(self) -> list[UnderWay]:
        """The attempts that go on."""
        return self._watch.look(self.numbers, since=self._began()) if self.glance.is_live else []

    def _began(self) -> datetime:
        """When the process began that makes the attempts: it then wrote run.json."""
        try:
            return datetime.fromtimestamp((self.folder / RUN).stat().st_mtime - 1, UTC)
        except OSError:
            return datetime.now(UTC)


@dataclass(slots=True)
class _Kept:
    stamp: Stamp
    run: RunNow
    lines: Lines | None = None  # of a run that goes on: its end is read on


class Shelf:
    """What was read of runs; safe to use from several threads."""

    def __init__(self, *, processes: int = 1, most_headlines: int = _MOST_HEADLINES) -> None:
        """Keep so many headlines in all, those of the last run that was asked for in any case."""
        self._processes = processes
        self._most = most_headlines
        self._lock = Lock()
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()
        self._glances: dict[Path, tuple[Stamp, Glance]] = {}
        self._watches: dict[Path, Watch] = {}
        self._began: dict[Path, tuple[int, datetime]] = {}

    def run(self, folder: Path) -> RunNow:
        """A run as it is now.

        Raises:
            InputError: its records are of a newer agentbench.
        """
        with self._lock:
            return self._run(folder)

    def glance(self, folder: Path) -> Glance:
        """What a list tells of a run; what is wrong with it is among its warnings."""
        with self._lock:
            stamp = stamp_of(folder)
            kept = self._glances.get(folder)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            try:
                glance = self._run(folder).glance
            except InputError as error:
                glance = _unreadable(folder, str(error))
            self._glances[folder] = (stamp, glance)
            return glance

    def began(self, folder: Path) -> datetime:
        """When a run began, as far as run.json tells; the beginning of time where it does not."""
        try:
            stamp = (folder / RUN).stat().st_mtime_ns
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

    def _run(self, folder: Path) -> RunNow:
        stamp = stamp_of(folder)  # before anything is read: what comes later is read again
        kept = self._kept.get(folder)
        if kept is None or kept.stamp != stamp:
            kept = self._read(folder, stamp, kept)
            self._kept[folder] = kept
        self._kept.move_to_end(folder)
        self._forget_some()
        return kept.run

    def _read(self, folder: Path, stamp: Stamp, before: _Kept | None) -> _Kept:
        is_live = stamp.is_live
        lines = _to_be_read_on(before, stamp) if before is not None else None
        if lines is not None:
            lines.read_on(whole_lines=True)
            reading = _reading_of(lines)
        else:
            reading = RunStore(folder).reading(processes=self._processes)
        watch = self._watches.setdefault(folder, Watch(folder)) if is_live else Watch(folder)
        run = RunNow(folder, _glance(folder, reading, is_live=is_live), reading, watch)
        if not is_live:
            self._watches.pop(folder, None)
        return _Kept(stamp, run, lines)

    def _forget_some(self) -> None:
        held = sum(len(kept.run.reading.headlines) for kept in self._kept.values())
        while held > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            held -= len(gone.run.reading.headlines)


def _glance(folder: Path, reading: Reading, *, is_live: bool) -> Glance:
    warnings = reading.warnings()
    try:
        configuration = RunStore(folder).configuration()
    except (InputError, OSError) as error:
        configuration, warnings = None, (str(error), *warnings)
    latest = [reading.headlines[number] for number in reading.latest()]
    return Glance(
        name=folder.name,
        configuration=configuration,
        is_live=is_live,
        summary=Summary.of(latest),
        warnings=warnings,
    )


def _unreadable(folder: Path, why: str) -> Glance:
    return Glance(
        name=folder.name, configuration=None, is_live=False, summary=None, warnings=(why,)
    )


def _to_be_read_on(before: _Kept, stamp: Stamp) -> Lines | None:
    """What was read of a run that goes on; None where all is to be read again."""
    reading = before.run.reading
    if (
        not stamp.is_live
        or stamp.attempts is None
        or not stamp.attempts.goes_on(before.stamp.attempts)
    ):
        return None
    if reading.adopted or reading.set_aside or not reading.headlines:
        return None  # the order of its records may change, or there is nothing to gain
    return before.lines or _lines_of(reading)


def _lines_of(reading: Reading) -> Lines:
    with reading.path.open("rb") as source:
        source.seek(reading.places[-1])
        source.readline()
        end = source.tell()
    return Lines(
        path=reading.path,
        headlines=list(reading.headlines),
        starts=reading.places[:],
        count=len(reading.headlines),
        end=end,
    )


def _reading_of(lines: Lines) -> Reading:
    return Reading(
        path=lines.path,
        headlines=tuple(lines.headlines),
        places=lines.starts[:],
        set_aside=tuple(lines.set_aside),
        adopted=(),
    )
