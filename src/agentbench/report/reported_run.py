"""A run for reports: the last record and the start of each attempt."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from agentbench.attempt.record import AttemptRecord
from agentbench.errors import InputError
from agentbench.report.attempt_files import files_in
from agentbench.report.failure_cause import FailureCause, find_cause
from agentbench.report.leaderboard import Entrant
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.reading import RecordCopy, RunRecords, read_run
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key


class ReportedRun(Struct, frozen=True, kw_only=True):
    """A run's attempts: summaries are in memory, records are read on demand."""

    folder: Path
    reading: RunRecords
    latest: Sequence[int]  # the number of each attempt's last record

    @classmethod
    def read(cls, folder: Path, *, whole: bool = False, processes: int = 1) -> "ReportedRun":
        """Read a run; `whole` checks every field, for reading whole records later.

        Args:
            folder: The run's folder.
            whole: Whether to check every field, for reading whole records later.
            processes: The number of processes for reading a very large run.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        reading = read_run(RunStore.open(folder).folder, whole=whole, processes=processes)
        return cls(folder=folder, reading=reading, latest=reading.latest())

    @property
    def attempts(self) -> list[AttemptSummary]:
        """The summary of each attempt, in the order of their first records."""
        return [self.reading.summaries[number] for number in self.latest]

    def warnings(self) -> tuple[str, ...]:
        """Messages about damaged records, and that a rerun has only hard attempts."""
        known, found = self._configuration, self.reading.warnings()
        if known is None or known.rerun_of is None:
            return found
        return (
            *found,
            f"{known.run_id} repeats only attempts that {known.rerun_of} did not resolve; do not "
            "compare its rate with the rate of a whole run",
        )

    @property
    def entrant(self) -> Entrant:
        """The run for a leaderboard."""
        known = self._configuration
        return Entrant(
            name=self.folder.resolve().name,
            attempts=self.attempts,
            agent_command=known.agent_command if known is not None else None,
            base_url=known.base_url if known is not None else None,
            is_configuration_known=known is not None,
        )

    def records(self) -> Iterator[AttemptRecord]:
        """Whole records, one at a time.

        Raises:
            InputError: a record was changed since, or is invalid.
        """
        return self.reading.records(self.latest)

    def cause_finder(self) -> Callable[[AttemptSummary], FailureCause | None]:
        """A function that reads why an attempt of the run failed; None if it is resolved.

        It raises InputError if the record was changed since, or is invalid.
        """
        numbers = {attempt_key(self.reading.summaries[n]): n for n in self.latest}
        store = RunStore(self.folder)  # also of a run without a readable run.json

        def cause_of(attempt: AttemptSummary) -> FailureCause | None:
            """Read one record, and the files of its attempt."""
            (record,) = self.reading.records([numbers[attempt_key(attempt)]])
            return find_cause(record, files_in(store.folder_of(record)))

        return cause_of

    @property
    def _configuration(self) -> RunConfiguration | None:
        try:
            return RunStore.open(self.folder).configuration()
        except (InputError, OSError):
            return None

    def unmade(self) -> list[AttemptKey]:
        """The planned attempts without a record.

        Raises:
            InputError: run.json is damaged, or of a newer agentbench.
        """
        planned = RunStore.open(self.folder).configuration()
        recorded = {attempt_key(each) for each in self.attempts}
        attempts = (
            (task.id, number) for task in planned.tasks for number in task.numbers(planned.attempts)
        )
        return [attempt for attempt in attempts if attempt not in recorded]


class TimedRun(Entrant, frozen=True, kw_only=True):
    """One run with the start of each attempt."""

    starts: Sequence[datetime]

    @classmethod
    def of(cls, run: ReportedRun) -> "TimedRun":
        """Read the starts of a run.

        Raises:
            InputError: a record was changed since.
        """
        entrant = run.entrant
        starts = list(_start_times(run.reading, run.latest))
        return cls(name=entrant.name, attempts=entrant.attempts, starts=starts)

    @property
    def began(self) -> datetime | None:
        """The start of its first attempt."""
        return min(self.starts, default=None)

    def spans(self) -> list[tuple[float, float]]:
        """The start and end of each attempt, in seconds since the run's start.

        They are rounded to milliseconds, so that consecutive attempts do not overlap.
        """
        began = self.began
        if began is None:
            return []
        first = ((start - began).total_seconds() for start in self.starts)
        return [
            (round(start, 3), round(start + attempt.total_s, 3))
            for start, attempt in zip(first, self.attempts, strict=True)
        ]

    @property
    def seconds(self) -> float:
        """The time from the first attempt's start to the last one's end."""
        return max((end for _, end in self.spans()), default=0.0)

    @property
    def most_at_once(self) -> int:
        """The largest number of attempts at the same time."""
        return max((number for _, number in concurrency(self.spans())), default=0)


def concurrency(spans: Sequence[tuple[float, float]]) -> list[tuple[float, int]]:
    """The number of spans at each moment at which it changes; ends come before starts.

    >>> concurrency([(0, 2), (1, 3)])
    [(0, 1), (1, 2), (2, 1), (3, 0)]
    """
    changes = sorted(
        change for start, end in spans for change in ((start, 1), (max(start, end), -1))
    )
    moments: list[tuple[float, int]] = []
    number = 0
    for (at, step), following in pairwise([*changes, (float("inf"), 0)]):
        number += step
        if following[0] != at:
            moments.append((at, number))
    return moments


class _StartTime(msgspec.Struct):
    started_at: datetime


_START_DECODER = msgspec.json.Decoder(_StartTime)


def _start_times(reading: RunRecords, numbers: Sequence[int]) -> Iterator[datetime]:
    """The starts of attempts, which their summaries do not have."""
    for number, stored in reading.stored(numbers):
        if isinstance(stored, RecordCopy):
            yield stored.record().started_at
            continue
        try:
            yield _START_DECODER.decode(stored).started_at
        except msgspec.DecodeError as error:
            attempt = reading.summaries[number].folder_name
            raise InputError(
                f"{reading.path}: the record of {attempt} was changed while it was read: {error}"
            ) from None
