"""Two runs at the same tasks, side by side, and whether the second one is worse."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agentbench.core.display_text import printable
from agentbench.errors import InputError
from agentbench.report.formatting import statement
from agentbench.report.summary import (
    Rate,
    ResultSummary,
    TaskOutcome,
    TaskOutcomes,
    judged_pairs,
    overall_pairs,
)
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.paired_comparison import Difference, paired_difference
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

    first: ResultSummary  # of the shared tasks' attempts alone
    second: ResultSummary
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
    first: Sequence[AttemptSummary], second: Sequence[AttemptSummary], *, alpha: float = ALPHA
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
        first=ResultSummary.of(attempt for attempt in first if attempt.task_id in theirs),
        second=ResultSummary.of(attempt for attempt in second if attempt.task_id in ours),
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


def _changed(
    first: Sequence[AttemptSummary], second: Sequence[AttemptSummary]
) -> tuple[TaskId, ...]:
    ours = {attempt.task_id: attempt.task_digest for attempt in first}
    theirs = {attempt.task_id: attempt.task_digest for attempt in second}
    return tuple(sorted(t for t in ours.keys() & theirs.keys() if ours[t] != theirs[t]))


def _interpreter_changes(
    shared: Iterable[TaskId], first: Sequence[AttemptSummary], second: Sequence[AttemptSummary]
) -> Iterator[InterpreterChange]:
    for what in (_python_of, _image_of):
        ours, theirs = _by_task(first, what), _by_task(second, what)
        changed = [task for task in shared if _known_to_differ(ours.get(task), theirs.get(task))]
        for task in changed:
            before, after = (", ".join(sorted(known[task])) for known in (ours, theirs))
            yield InterpreterChange(task_id=task, first=before, second=after)
        shared = [task for task in shared if task not in changed]


def _by_task(
    attempts: Sequence[AttemptSummary], what: Callable[[AttemptSummary], str | None]
) -> dict[TaskId, set[str]]:
    found: dict[TaskId, set[str]] = {}
    for attempt in attempts:
        if (value := what(attempt)) is not None:
            found.setdefault(attempt.task_id, set()).add(value)
    return found


def _known_to_differ(first: set[str] | None, second: set[str] | None) -> bool:
    """Whether two runs are known to differ: older records name neither Python nor image."""
    return first is not None and second is not None and first != second


def _python_of(attempt: AttemptSummary) -> str | None:
    """Without the last number: a base image that is made anew has the newest patch release."""
    return attempt.python and f"Python {'.'.join(attempt.python.split('.')[:2])}"


def _image_of(attempt: AttemptSummary) -> str | None:
    return attempt.image_name


_MAX_NAMED = 10  # tasks


def regression(comparison: Comparison, *, strict: bool) -> str | None:
    """What is worse in the second run, in one line; None where nothing is.

    Of judged attempts, a rate that is lower by a statistically significant difference is worse.
    Attempts that were lost to the task or the infrastructure say nothing about the agent.

    Args:
        comparison: the first run is what is to be held.
        strict: A single task is enough, significant or not, and whoever's the fault is.

    Raises:
        InputError: nothing can be said, since no task has a judged attempt in both runs.
    """
    if strict:
        names = [printable(flip.task_id) for flip in comparison.lost]
        if not names:
            return None
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        return (
            f"regression: {len(names)} resolved less often: {', '.join(names[:_MAX_NAMED])}{more}"
        )
    judged = comparison.judged
    if judged is None:
        raise InputError(
            f"cannot tell a regression: of {comparison.tasks} shared tasks none has an attempt in "
            "both runs that was not lost to the task or the infrastructure; run it again"
        )
    if judged.difference < 0 and judged.is_significant:
        told = statement(judged)
        return f"regression: {told.difference}, {told.interval}. {told.verdict}. {told.test}."
    return None


def doubts(comparison: Comparison, *, strict: bool) -> tuple[str, ...]:
    """Why the answer that there is no regression may mean little."""
    judged = comparison.judged
    if strict or judged is None:
        return ()
    said = []
    if judged.detectable is None:
        said.append(
            f"{judged.tasks} tasks are too few to detect any regression: add tasks, or use --strict"
        )
    unjudged = comparison.tasks - judged.tasks
    if unjudged:
        said.append(f"{unjudged} of {comparison.tasks} shared tasks have no judged attempt to test")
    return tuple(said)
