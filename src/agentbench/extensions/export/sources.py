"""The runs of an export, and the tasks of their attempts, which say what must not be in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.attempt.record import AttemptRecord
from agentbench.errors import InputError
from agentbench.extensions.export.answers import TaskAnswers, read_answers
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.tasks.loading import TASK_FILE, load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """A run with its configuration."""

    reported: ReportedRun
    configuration: RunConfiguration
    folders: Mapping[str, str]  # of tasks, by their ids

    @classmethod
    def open(cls, folder: Path, *, processes: int = 1) -> "SourceRun":
        """Read a run, also one that is still going.

        Raises:
            InputError: it is damaged, or of a newer agentbench.
        """
        reported = ReportedRun.read(folder, whole=True, processes=processes)
        configuration = RunStore.open(folder).configuration()
        folders = {str(task.id): task.folder for task in configuration.tasks}
        return cls(reported=reported, configuration=configuration, folders=folders)

    def warnings(self) -> tuple[str, ...]:
        """Messages about damaged records, and that the run is not finished."""
        configuration = self.configuration
        missing = configuration.planned_attempts - len(self.reported.latest)
        if configuration.ended_at is not None or missing <= 0:
            return self.reported.reading.warnings()
        going = f"{configuration.run_id} is not finished: {missing} attempts have no record yet"
        return (*self.reported.reading.warnings(), going)

    def summaries(self) -> Iterator[tuple[int, AttemptSummary]]:
        """The last record of each attempt in brief, with its number."""
        found = self.reported.reading.summaries
        return ((number, found[number]) for number in self.reported.latest)

    def records(self, numbers: Sequence[int]) -> Iterator[AttemptRecord]:
        """Whole records, one at a time.

        Raises:
            InputError: a record was changed since, or is invalid.
        """
        return self.reported.reading.records(numbers)

    def folder_of(self, record: AttemptRecord) -> Path:
        """The folder of an attempt's files."""
        return RunStore(self.reported.folder).folder_of(record)


@dataclass(slots=True, kw_only=True)
class TaskSources:
    """Finds the tasks of attempts: those that were named, or where their run found them."""

    mirrors: Mirrors
    named: Mapping[str, Task] = field(default_factory=dict)  # by their digests
    _answers: dict[str, TaskAnswers | str] = field(default_factory=dict)  # or why there are none

    def answers(self, digest: str) -> TaskAnswers | None:
        """The answers of a task that was found before; None if it cannot be read."""
        found = self._answers.get(digest)
        return found if isinstance(found, TaskAnswers) else None

    def find(self, run: SourceRun, attempt: AttemptSummary) -> str | None:
        """Read the task of an attempt, once; returns why it cannot be read."""
        digest = attempt.task_digest
        if digest not in self._answers:
            folder = run.folders.get(attempt.task_id, "")
            try:
                self._answers[digest] = read_answers(self._task(folder, digest), self.mirrors)
            except InputError as error:
                self._answers[digest] = error.faults[0]
        found = self._answers[digest]
        return found if isinstance(found, str) else None

    def _task(self, folder: str, digest: str) -> Task:
        if digest in self.named:
            return self.named[digest]
        path = Path(folder)
        try:
            if not (path.is_absolute() and (path / TASK_FILE).is_file()):
                raise InputError(f"{folder or 'run.json'}: no task is there any more")
        except (OSError, ValueError) as error:
            raise InputError(f"the task's folder cannot be read: {error}") from None
        task = load_task(path, mirrors=self.mirrors)
        if task.digest != digest:
            raise InputError(f"{folder}: the task was changed after the run")
        return task
