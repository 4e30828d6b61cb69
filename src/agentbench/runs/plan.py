"""Which attempts a run is to make and in which order, which of them are still to be made.

How long attempts took earlier.

A file in the cache, one line an attempt, the last one counting. It decides nothing but an order, so
it is written without waiting for the disk, and what is damaged or lost of it is passed over.
"""

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct
from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_FILE = "durations.jsonl"
_SPARE = 10_000  # lines beyond twice the keys, before the old ones are dropped
_LOG = logging.getLogger("agentbench.cache")


class PlannedAttempt(Struct, frozen=True, kw_only=True):
    """One attempt that is to be made."""

    task: Task
    attempt: int


class Plan:
    """All attempts of a run but those that are done; a byte for each is all that it holds.

    Every task has its first attempt before any has its second: a run that is stopped, or whose
    money is spent, has then tried all of them.
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
        """In the order of their attempts."""
        return self._tasks

    def knows(self, task: Task) -> bool:
        """Whether a task was tried before, and is prepared."""
        return task.id in self._known

    def less(self, marks: Iterable[tuple[AttemptKey, bool]]) -> Self:
        """This plan without the attempts that are done.

        Args:
            marks: Whether each attempt is done; its last mark counts. Other attempts are ignored.
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
    longest time limits first, each repository's spread among the others'. The known ones follow,
    longest first, so that a run ends with short ones on every core. A seed shuffles all instead.

    Args:
        tasks: In the order that they were named in, which decides where nothing else does.
        expected: How many seconds an attempt at a task took earlier, if that is known.
        seed: For a shuffle.
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
    """Those that have no verdict, or one that the infrastructure spoilt with retries left.

    Args:
        plan: All attempts of the run.
        records: Every record of it, in the order they were made; none is kept.
        retries: How often an attempt that the infrastructure fails is made again; infinity: until
            it has a verdict.
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
        """The seconds that an attempt took last, by task id, of those that were tried before."""
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
        """Keep how long an attempt took, unless the infrastructure cut it short."""
        if record.fault is Fault.INFRASTRUCTURE:
            return
        line = _DurationLine(key=self._key(record.task_digest), seconds=record.timing.total_s)
        try:
            with self._path.open("ab", buffering=0) as target:
                target.write(line.model_dump_json().encode() + b"\n")
        except OSError as error:
            _LOG.info("%s: not written (%s); the next order is a guess", self._path, error)

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
            _LOG.info("%s: not made shorter (%s)", self._path, error)
