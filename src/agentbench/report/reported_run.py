"""A run as reports take it: the last record of each attempt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import InputError
from agentbench.report.leaderboard import Entrant
from agentbench.runs.headline import Attempt, Headline, attempt_of
from agentbench.runs.reading import Reading
from agentbench.runs.record import AttemptRecord
from agentbench.runs.store import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A run's attempts; headlines are held, records are read when asked for."""

    folder: Path
    reading: Reading
    latest: Sequence[int]  # of each attempt the number of its last record

    @classmethod
    def read(cls, folder: Path, *, whole: bool = False, processes: int = 1) -> "ReportedRun":
        """Read a run.

        Args:
            folder: its own.
            whole: Check every field, for whoever goes on to read whole records.
            processes: How many may read a very large run.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        reading = RunStore.open(folder).reading(whole=whole, processes=processes)
        return cls(folder=folder, reading=reading, latest=reading.latest())

    @property
    def attempts(self) -> list[Headline]:
        """A headline for each attempt, in the order of their first records."""
        return [self.reading.headlines[number] for number in self.latest]

    @property
    def entrant(self) -> Entrant:
        """The run, as leaderboards take it."""
        try:
            asked = RunStore.open(self.folder).configuration()
        except (InputError, OSError):
            asked = None
        return Entrant(
            name=self.folder.resolve().name,
            attempts=self.attempts,
            agent_command=asked.agent_command if asked is not None else None,
            base_url=asked.base_url if asked is not None else None,
            is_configuration_known=asked is not None,
        )

    def records(self) -> Iterator[AttemptRecord]:
        """Whole records, one at a time.

        Raises:
            InputError: a record was changed since, or its digest holds and it is none.
        """
        return self.reading.records(self.latest)

    def unmade(self) -> list[Attempt]:
        """Which attempts were planned and have no record.

        Raises:
            InputError: run.json is damaged, or of a newer agentbench.
        """
        planned = RunStore.open(self.folder).configuration()
        made = {attempt_of(each) for each in self.attempts}
        numbers = range(1, planned.attempts + 1)
        wanted = ((task.id, number) for task in planned.tasks for number in numbers)
        return [attempt for attempt in wanted if attempt not in made]
