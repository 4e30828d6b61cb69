"""The plan of a run: its attempts in order, those that remain, and earlier durations."""

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.taxonomy import Fault

_FILE = "durations.jsonl"
# So many lines beyond twice the keys are appended before the old ones are dropped.
_SPARE = 10_000
_LOG = logging.getLogger("agentbench.cache")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedAttempt:
    """One planned attempt, told apart by its identity."""

    task: Task
    attempt: int


class Plan:
    """The attempts of a run that are not done."""

    def __init__(
        self, tasks: Sequence[Task], attempts: int, *, known: Collection[TaskId] = ()
    ) -> None:
        """Plan attempts at tasks, the tasks in this order; some are known from earlier runs."""
        self.tasks = tuple(tasks)
        """The tasks in the order of their attempts."""
        self._known = known
        # Every task has its first attempt before any task has its second, so that a run that stops
        # early, or spends its budget, has tried as many tasks as possible.
        self._attempts = [
            PlannedAttempt(task=task, attempt=number)
            for number in range(1, attempts + 1)
            for task in tasks
        ]

    def __len__(self) -> int:
        return len(self._attempts)

    def __iter__(self) -> Iterator[PlannedAttempt]:
        return iter(self._attempts)

    def knows(self, task: Task) -> bool:
        """Whether a task was tried before, and is prepared."""
        return task.id in self._known

    def less(self, marks: Iterable[tuple[AttemptKey, bool]]) -> "Plan":
        """This plan without the attempts that are done.

        Args:
            marks: Whether each attempt is done; its last mark counts. Attempts outside of the plan
                are ignored.
        """
        is_done = dict(marks)
        rest = Plan(self.tasks, 0, known=self._known)
        rest._attempts = [
            each for each in self._attempts if not is_done.get((each.task.id, each.attempt), False)
        ]
        return rest


def in_order(
    tasks: Sequence[Task], *, expected: Callable[[Task], float | None], seed: int | None = None
) -> list[Task]:
    """Tasks in the order of their attempts.

    Args:
        tasks: The tasks in the order in which they were named, which decides ties.
        expected: The seconds that an attempt at a task took earlier, if known.
        seed: The seed of a shuffle.
    """
    if seed is not None:
        shuffled = list(tasks)
        random.Random(seed).shuffle(shuffled)
        return shuffled
    seconds = {task.id: expected(task) for task in tasks}
    known = [task for task in tasks if seconds[task.id] is not None]
    # The longest first, so that a run ends with short ones on every core.
    known.sort(key=lambda task: seconds[task.id] or 0.0, reverse=True)
    # Those without a known duration come first, since they may be long and are not prepared yet.
    unknown = sorted(
        (task for task in tasks if seconds[task.id] is None),
        key=lambda task: task.setup.timeout_s + task.agent_seconds + task.judged_seconds,
        reverse=True,
    )
    # The first of each repository, then the second of each, and so on.
    met: Counter[str] = Counter()
    ordered: list[tuple[int, Task]] = []
    for task in unknown:
        repository = str(task.source.files or task.source.url)
        ordered.append((met[repository], task))
        met[repository] += 1
    ordered.sort(key=lambda entry: entry[0])
    return [*(task for _, task in ordered), *known]


def remaining_attempts(
    plan: Plan, records: Iterable[AttemptRecord | AttemptSummary], *, retries: float
) -> Plan:
    """The attempts without a verdict, and infrastructure failures with retries left.

    Args:
        plan: All attempts of the run.
        records: Every record of the run in order; none stays in memory.
        retries: The retries of an attempt after infrastructure failures; infinity: until it has a
            verdict.
    """
    failures: Counter[AttemptKey] = Counter()
    marks: list[tuple[AttemptKey, bool]] = []
    for one in records:
        summary = AttemptSummary.of(one)
        attempt, is_done = attempt_key(summary), not summary.was_interrupted
        if summary.is_retryable:
            failures[attempt] += 1
            is_done = failures[attempt] > retries
        marks.append((attempt, is_done))
    return plan.less(marks)


class _DurationLine(Schema):
    key: str
    seconds: float


class AttemptDurations:
    """The durations of attempts by one agent with one model on one back end."""

    def __init__(self, folder: Path, *, agent: str, model: str | None, provider: str) -> None:
        self._path = folder / _FILE
        self._who = f"{provider}\0{agent}\0{model or ''}"

    def known(self, tasks: Iterable[Task]) -> dict[TaskId, float]:
        """The seconds of the last attempt at each task that was tried before, by task id."""
        ids = {self._key(task.digest): task.id for task in tasks}
        lines = 0
        newest: dict[str, float] = {}
        with suppress(OSError), self._path.open("rb") as source:
            for text in source:
                # Durations only decide the order, so they are written without waiting for the
                # disk, and a damaged line is skipped.
                with suppress(ValidationError):
                    line = _DurationLine.model_validate_json(text)
                    newest[line.key] = line.seconds
                    lines += 1
        if lines > 2 * len(newest) + _SPARE:
            rows = (_DurationLine(key=key, seconds=seconds) for key, seconds in newest.items())
            content = "".join(f"{row.model_dump_json()}\n" for row in rows)
            try:
                write_atomically(self._path, content.encode())
            except OSError as error:
                _LOG.info("%s: cannot be shortened (%s)", self._path, error)
        return {ids[key]: seconds for key, seconds in newest.items() if key in ids}

    def note(self, record: AttemptRecord) -> None:
        """Store the duration of an attempt."""
        # The infrastructure may have cut it short.
        if record.fault is Fault.INFRASTRUCTURE:
            return
        line = _DurationLine(key=self._key(record.task_digest), seconds=record.timing.total_s)
        try:
            with self._path.open("ab", buffering=0) as target:
                target.write(line.model_dump_json().encode() + b"\n")
        except OSError as error:
            _LOG.info(
                "%s: cannot be written (%s); the next run has to guess the order of tasks",
                self._path,
                error,
            )

    def _key(self, digest: str) -> str:
        return hashlib.sha256(f"{self._who}\0{digest}".encode()).hexdigest()[:16]
