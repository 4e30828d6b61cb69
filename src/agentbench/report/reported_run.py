"""A run for reports: the last record and the start of each attempt."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import counted
from agentbench.errors import InputError
from agentbench.report.attempt_files import files_in
from agentbench.report.failure_cause import FailureCause, find_cause
from agentbench.report.leaderboard import Entrant
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.reading import RunRecords, read_run
from agentbench.runs.store.store import RunStore, is_run_locked
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A run's attempts: summaries are in memory, records are read on demand."""

    folder: Path
    reading: RunRecords
    latest: Sequence[int]  # the number of each attempt's last record

    @classmethod
    def read(cls, folder: Path) -> "ReportedRun":
        """Read the run in a folder.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        reading = read_run(RunStore.open(folder).folder)
        return cls(folder=folder, reading=reading, latest=reading.latest())

    @property
    def attempts(self) -> list[AttemptSummary]:
        """The summary of each attempt, in the order of their first records."""
        return [self.reading.summaries[number] for number in self.latest]

    def warnings(self) -> tuple[str, ...]:
        """Messages about damaged files, missing attempts, and a rerun's hard attempts."""
        found = self.reading.warnings()
        try:
            known = RunStore.open(self.folder).configuration()
        except (InputError, OSError) as error:
            why = str(error).partition("; its records")[0]
            return (*found, f"{why}; only the run's records are read")
        if (unfinished := self.unfinished_text()) is not None:
            found = (*found, f"{known.run_id}: {unfinished}")
        if known.rerun_of is None:
            return found
        return (
            *found,
            f"{known.run_id} repeats only attempts that {known.rerun_of} did not resolve; do not "
            "compare its rate with the rate of a whole run",
        )

    @property
    def entrant(self) -> Entrant:
        known = self.configuration
        return Entrant(
            name=self.folder.resolve().name,
            attempts=self.attempts,
            agent_command=known.agent_command if known is not None else None,
            base_url=known.base_url if known is not None else None,
            note=known.note if known is not None else None,
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
        # Not `RunStore.open`: a run without a readable run.json has causes as well.
        store = RunStore(self.folder)

        def cause_of(attempt: AttemptSummary) -> FailureCause | None:
            (record,) = self.reading.records([numbers[attempt_key(attempt)]])
            return find_cause(record, files_in(store.folder_of(record)))

        return cause_of

    @property
    def configuration(self) -> RunConfiguration | None:
        """The content of run.json; None if it cannot be read."""
        try:
            return RunStore.open(self.folder).configuration()
        except (InputError, OSError):
            return None

    def unfinished_text(self) -> str | None:
        """How many planned attempts have no record, or were cut off; None if all were made."""
        known = self.configuration
        if known is None:
            return None
        unmade = len(self.unmade()) + sum(each.was_interrupted for each in self.attempts)
        if not unmade:
            return None
        planned = counted(known.planned_attempts, "planned attempt")
        how = "the run goes on" if is_run_locked(self.folder) else "`agentbench resume` makes them"
        return f"unfinished: {unmade} of {planned} not made ({how})"

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
