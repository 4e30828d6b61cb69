"""What a run is to make, in which order: kept as numbers, made into attempts as they are due."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One attempt that is to be made."""

    task: Task
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Whether one attempt is done; a later mark counts more than an earlier one."""

    task_id: TaskId
    attempt: int
    is_done: bool


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
        self._left = len(self._done)

    def __len__(self) -> int:
        return self._left

    def __iter__(self) -> Iterator[Planned]:
        width = len(self._tasks)
        for place, done in enumerate(self._done):
            if not done:
                attempt, which = divmod(place, width)
                yield Planned(task=self._tasks[which], attempt=attempt + 1)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """In the order of their attempts."""
        return self._tasks

    def knows(self, task: Task) -> bool:
        """Whether a task was tried before, and is prepared."""
        return task.id in self._known

    def less(self, marks: Iterable[Mark]) -> Self:
        """This plan without what is done; marks of attempts that it does not have are left out."""
        rest = type(self)(self._tasks, self._attempts, known=self._known)
        rest._done[:] = self._done
        places = {task.id: place for place, task in enumerate(self._tasks)}
        for mark in marks:
            place = places.get(mark.task_id)
            if place is not None and 1 <= mark.attempt <= self._attempts:
                rest._done[(mark.attempt - 1) * len(self._tasks) + place] = mark.is_done
        rest._left = rest._done.count(False)
        return rest


def in_order(
    tasks: Sequence[Task], *, expected: Callable[[Task], float | None], seed: int | None = None
) -> list[Task]:
    """Tasks in the order of their attempts.

    Those that nobody knows come first, since they may be long and are still to be prepared: the
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
    return [*_spread(unknown), *known]


def _limit(task: Task) -> float:
    problem = task.problem
    return task.setup.timeout_s + problem.limits.timeout_s + problem.test_timeout_s


def _spread(tasks: Iterable[Task]) -> list[Task]:
    """The first of each repository, then the second of each, and so on."""
    met: Counter[str] = Counter()
    turns: list[tuple[int, Task]] = []
    for task in tasks:
        repository = str(task.source.files or task.source.url)
        turns.append((met[repository], task))
        met[repository] += 1
    turns.sort(key=lambda turn: turn[0])
    return [task for _, task in turns]
