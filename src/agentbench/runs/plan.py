"""The plan of a run: its attempts in order, those that remain, and earlier durations.

The durations are in a file in the cache with one line per attempt; the last line of a task counts.
They only decide the order, so they are written without waiting for the disk, and damaged lines are
skipped.
"""

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.taxonomy import Fault

_FILE = "durations.jsonl"
_SPARE = 10_000  # lines beyond twice the keys, before the old ones are dropped
_LOG = logging.getLogger("agentbench.cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAttempt:
    """One planned attempt."""

    task: Task
    attempt: int


class Plan:
    """The attempts of a run that are not done; it stores one byte for each.

    Every task has its first attempt before any task has its second, so that a run that stops early,
    or spends its budget, has tried as many tasks as possible.
    """

    def __init__(
        self, tasks: Sequence[Task], attempts: int, *, known: Collection[TaskId] = ()
    ) -> None:
        """Plan attempts at tasks, the tasks in this order; some are known from earlier runs."""
        self._tasks = tuple(tasks)
        self._known = known
        self._attempts = attempts
        self._done = bytearray(len(self._tasks) * attempts)
        self._remaining = len(self._done)

    def __len__(self) -> int:
        return self._remaining

    def __iter__(self) -> Iterator[PlannedAttempt]:
        width = len(self._tasks)
        for position, done in enumerate(self._done):
            if not done:
                attempt, which = divmod(position, width)
                yield PlannedAttempt(task=self._tasks[which], attempt=attempt + 1)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks in the order of their attempts."""
        return self._tasks

    def knows(self, task: Task) -> bool:
        """Whether a task was tried before, and is prepared."""
        return task.id in self._known

    def less(self, marks: Iterable[tuple[AttemptKey, bool]]) -> Self:
        """This plan without the attempts that are done.

        Args:
            marks: Whether each attempt is done; its last mark counts. Attempts outside of the plan
                are ignored.
        """
        rest = type(self)(self._tasks, self._attempts, known=self._known)
        rest._done[:] = self._done
        positions = {task.id: position for position, task in enumerate(self._tasks)}
        for (task_id, attempt), is_done in marks:
            position = positions.get(task_id)
            if position is not None and 1 <= attempt <= self._attempts:
                rest._done[(attempt - 1) * len(self._tasks) + position] = is_done
        rest._remaining = rest._done.count(False)
        return rest


def in_order(
    tasks: Sequence[Task], *, expected: Callable[[Task], float | None], seed: int | None = None
) -> list[Task]:
    """Tasks in the order of their attempts.

    Those without a known duration come first, since they may be long and are not prepared yet: the
    longest time limits first, alternating between repositories. The known ones follow, longest
    first, so that a run ends with short ones on every core. A seed shuffles all instead.

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
    unknown = [task for task in tasks if seconds[task.id] is None]
    known.sort(key=lambda task: seconds[task.id] or 0.0, reverse=True)
    unknown.sort(key=_limit, reverse=True)
    return [*_spread_over_repositories(unknown), *known]


def _limit(task: Task) -> float:
    return task.setup.timeout_s + task.agent_seconds + task.judged_seconds


def _spread_over_repositories(tasks: Iterable[Task]) -> list[Task]:
    """The first of each repository, then the second of each, and so on."""
    met: Counter[str] = Counter()
    ordered: list[tuple[int, Task]] = []
    for task in tasks:
        repository = str(task.source.files or task.source.url)
        ordered.append((met[repository], task))
        met[repository] += 1
    ordered.sort(key=lambda entry: entry[0])
    return [task for _, task in ordered]


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
    return plan.less(_progress_of(records, retries))


def _progress_of(
    records: Iterable[AttemptRecord | AttemptSummary], retries: float
) -> Iterator[tuple[AttemptKey, bool]]:
    failures: Counter[AttemptKey] = Counter()
    for one in records:
        summary = AttemptSummary.of(one)
        attempt, is_done = attempt_key(summary), not summary.was_interrupted
        if is_done and summary.fault is Fault.INFRASTRUCTURE:
            failures[attempt] += 1
            is_done = failures[attempt] > retries
        yield attempt, is_done


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
        for line in self._lines():
            lines += 1
            newest[line.key] = line.seconds
        if lines > 2 * len(newest) + _SPARE:
            self._rewrite(newest)
        return {ids[key]: seconds for key, seconds in newest.items() if key in ids}

    def note(self, record: AttemptRecord) -> None:
        """Store the duration of an attempt, unless the infrastructure cut it short."""
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

    def _lines(self) -> Iterator[_DurationLine]:
        try:
            with self._path.open("rb") as source:
                for line in source:
                    try:
                        yield _DurationLine.model_validate_json(line)
                    except ValidationError:
                        continue
        except OSError:
            return

    def _rewrite(self, newest: dict[str, float]) -> None:
        lines = (_DurationLine(key=key, seconds=seconds) for key, seconds in newest.items())
        content = "".join(f"{line.model_dump_json()}\n" for line in lines)
        try:
            write_atomically(self._path, content.encode())
        except OSError as error:
            _LOG.info("%s: cannot be shortened (%s)", self._path, error)
