"""Two runs at the same tasks, side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agentbench.errors import InputError
from agentbench.report.summary import Rate, Summary
from agentbench.report.task_outcomes import (
    TaskOutcome,
    TaskOutcomes,
    judged_pairs,
    overall_pairs,
)
from agentbench.runs.headline import Headline
from agentbench.scoring.paired import Difference, paired_difference
from agentbench.scoring.statistics import ALPHA
from agentbench.tasks.problem import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A task of whose attempts another share was resolved."""

    task_id: TaskId
    first: Rate
    second: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpreterChange:
    """A task that ran with another Python, or in another image, in the second run."""

    task_id: TaskId
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What two runs made of the tasks that both have."""

    first: Summary  # of the shared tasks' attempts alone
    second: Summary
    only_first: tuple[TaskId, ...]  # tasks that the other run has not
    only_second: tuple[TaskId, ...]
    changed: tuple[TaskId, ...]  # shared by id, yet not the same task: their digests differ
    interpreters: tuple[InterpreterChange, ...]  # as far as both runs' records name theirs
    gained: tuple[Flip, ...]  # the second run resolved a larger share
    lost: tuple[Flip, ...]
    overall: Difference  # over all attempts
    judged: Difference | None  # without those lost to the task or the infrastructure

    @property
    def tasks(self) -> int:
        """How many tasks both runs have."""
        return self.overall.tasks

    @property
    def difference(self) -> float:
        """Second minus first: the mean over the shared tasks of their rates' differences."""
        return self.overall.difference


def compare(
    first: Sequence[Headline], second: Sequence[Headline], *, alpha: float = ALPHA
) -> Comparison:
    """Compare two runs, each given by the last record of every attempt (`Reading.latest`).

    `alpha` is the level below which a p value is statistically significant.

    Raises:
        InputError: they share no task.
    """
    ours, theirs = TaskOutcomes(first).by_task, TaskOutcomes(second).by_task
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise InputError(
            f"nothing to compare: of {len(ours)} and {len(theirs)} tasks the two runs share none; "
            "compare runs of the same tasks"
        )
    flips = list(_flips(shared, ours, theirs))
    both = Counter((ours[task], theirs[task]) for task in shared)
    judged = judged_pairs(both)
    return Comparison(
        first=Summary.of(attempt for attempt in first if attempt.task_id in theirs),
        second=Summary.of(attempt for attempt in second if attempt.task_id in ours),
        only_first=tuple(sorted(ours.keys() - theirs.keys())),
        only_second=tuple(sorted(theirs.keys() - ours.keys())),
        changed=_changed(first, second),
        interpreters=tuple(_interpreter_changes(shared, first, second)),
        gained=tuple(flip for flip in flips if flip.second.share > flip.first.share),
        lost=tuple(flip for flip in flips if flip.second.share < flip.first.share),
        overall=paired_difference(overall_pairs(both), alpha=alpha),
        judged=paired_difference(judged, alpha=alpha) if judged else None,
    )


def _flips(
    shared: Iterable[TaskId],
    ours: Mapping[TaskId, TaskOutcome],
    theirs: Mapping[TaskId, TaskOutcome],
) -> Iterator[Flip]:
    rate = cache(_rate)
    for task in shared:
        first, second = rate(ours[task]), rate(theirs[task])
        if first.share != second.share:
            yield Flip(task_id=task, first=first, second=second)


def _rate(outcome: TaskOutcome) -> Rate:
    return Rate(resolved=outcome.resolved, total=outcome.attempts)


def _changed(first: Sequence[Headline], second: Sequence[Headline]) -> tuple[TaskId, ...]:
    ours = {attempt.task_id: attempt.task_digest for attempt in first}
    theirs = {attempt.task_id: attempt.task_digest for attempt in second}
    return tuple(sorted(t for t in ours.keys() & theirs.keys() if ours[t] != theirs[t]))


def _interpreter_changes(
    shared: Iterable[TaskId], first: Sequence[Headline], second: Sequence[Headline]
) -> Iterator[InterpreterChange]:
    for what in (_python_of, _image_of):
        ours, theirs = _by_task(first, what), _by_task(second, what)
        changed = [task for task in shared if _differ(ours.get(task), theirs.get(task))]
        for task in changed:
            before, after = (", ".join(sorted(known[task])) for known in (ours, theirs))
            yield InterpreterChange(task_id=task, first=before, second=after)
        shared = [task for task in shared if task not in changed]


def _by_task(
    attempts: Sequence[Headline], what: Callable[[Headline], str | None]
) -> dict[TaskId, set[str]]:
    found: dict[TaskId, set[str]] = {}
    for attempt in attempts:
        if (value := what(attempt)) is not None:
            found.setdefault(attempt.task_id, set()).add(value)
    return found


def _differ(first: set[str] | None, second: set[str] | None) -> bool:
    """Whether two runs are known to differ: older records name neither Python nor image."""
    return first is not None and second is not None and first != second


def _python_of(attempt: Headline) -> str | None:
    """Without the last number: a base image that is made anew has the newest patch release."""
    return attempt.python and f"Python {'.'.join(attempt.python.split('.')[:2])}"


def _image_of(attempt: Headline) -> str | None:
    return attempt.image_name
