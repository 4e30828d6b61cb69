"""Compares two runs over the same tasks, and decides whether the second one is worse."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentbench.core.display_text import counted, list_with_more, printable
from agentbench.errors import InputError
from agentbench.report import formatting, summary
from agentbench.report.summary import Rate, ResultSummary
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.paired_comparison import Difference, paired_difference
from agentbench.scoring.statistics import ALPHA
from agentbench.tasks.problem import TaskId

_MAX_NAMED = 10  # tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A task with different resolved rates in both runs."""

    task_id: TaskId
    first: Rate
    second: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpreterChange:
    """A task with another Python or another image in the second run."""

    task_id: TaskId
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two runs over their common tasks."""

    first: ResultSummary  # only of attempts at common tasks
    second: ResultSummary
    only_first: tuple[TaskId, ...]  # tasks that only this run has
    only_second: tuple[TaskId, ...]
    changed: tuple[TaskId, ...]  # tasks with the same id, but different digests
    interpreters: tuple[InterpreterChange, ...]  # if the records of both runs name them
    gained: tuple[Flip, ...]  # the second run resolved a larger share
    lost: tuple[Flip, ...]
    overall: Difference  # second minus first, over all attempts
    judged: Difference | None  # excluding task and infrastructure errors

    @property
    def tasks(self) -> int:
        return self.overall.tasks


def compare(
    first: Sequence[AttemptSummary], second: Sequence[AttemptSummary], *, alpha: float = ALPHA
) -> Comparison:
    """Compare two runs, each given by the last records of its attempts (`RunRecords.latest`).

    `alpha` is the level below which a p value is statistically significant.

    Raises:
        InputError: they have no common task.
    """
    ours, theirs = summary.outcomes_by_task(first), summary.outcomes_by_task(second)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise InputError(
            f"nothing to compare: the two runs ({counted(len(ours), 'task')} and "
            f"{counted(len(theirs), 'task')}) share no task; compare runs of the same tasks"
        )
    both = Counter((ours[task], theirs[task]) for task in shared)
    flips = [
        Flip(
            task_id=task,
            first=Rate(resolved=ours[task].resolved, total=ours[task].attempts),
            second=Rate(resolved=theirs[task].resolved, total=theirs[task].attempts),
        )
        for task in shared
    ]
    judged = summary.judged_pairs(both)
    first_digests = {attempt.task_id: attempt.task_digest for attempt in first}
    second_digests = {attempt.task_id: attempt.task_digest for attempt in second}
    return Comparison(
        first=ResultSummary.of(attempt for attempt in first if attempt.task_id in theirs),
        second=ResultSummary.of(attempt for attempt in second if attempt.task_id in ours),
        only_first=tuple(sorted(ours.keys() - theirs.keys())),
        only_second=tuple(sorted(theirs.keys() - ours.keys())),
        changed=tuple(task for task in shared if first_digests[task] != second_digests[task]),
        interpreters=tuple(_interpreter_changes(shared, first, second)),
        # Equal shares are no flip.
        gained=tuple(flip for flip in flips if flip.second.share > flip.first.share),
        lost=tuple(flip for flip in flips if flip.second.share < flip.first.share),
        overall=paired_difference(summary.overall_pairs(both), alpha=alpha),
        judged=paired_difference(judged, alpha=alpha) if judged else None,
    )


def _interpreter_changes(
    shared: Iterable[TaskId], first: Sequence[AttemptSummary], second: Sequence[AttemptSummary]
) -> Iterator[InterpreterChange]:
    for value_of in (_python_of, lambda attempt: attempt.image_name):
        ours, theirs = _by_task(first, value_of), _by_task(second, value_of)
        # Records of former releases name neither Python nor image.
        known = ours.keys() & theirs.keys()
        changed = [task for task in shared if task in known and ours[task] != theirs[task]]
        for task in changed:
            before, after = (", ".join(sorted(own[task])) for own in (ours, theirs))
            yield InterpreterChange(task_id=task, first=before, second=after)
        shared = [task for task in shared if task not in changed]


def _by_task(
    attempts: Sequence[AttemptSummary], value_of: Callable[[AttemptSummary], str | None]
) -> dict[TaskId, set[str]]:
    found: dict[TaskId, set[str]] = {}
    for attempt in attempts:
        if (value := value_of(attempt)) is not None:
            found.setdefault(attempt.task_id, set()).add(value)
    return found


def _python_of(attempt: AttemptSummary) -> str | None:
    # The patch release changes when a base image is built again, which is no other Python.
    return attempt.python and f"Python {'.'.join(attempt.python.split('.')[:2])}"


def regression(comparison: Comparison, *, strict: bool) -> str | None:
    """The regression in the second run, in one line; None if there is none.

    A regression is a significantly lower rate of judged attempts.

    Args:
        comparison: The comparison with the first run as the baseline.
        strict: Whether a single task with a lower rate is enough, whatever the reason.

    Raises:
        InputError: no task has a judged attempt in both runs.
    """
    if strict:
        names = [printable(flip.task_id) for flip in comparison.lost]
        if not names:
            return None
        return f"regression: {len(names)} resolved less often: {list_with_more(names, _MAX_NAMED)}"
    judged = comparison.judged
    # A run without any judged attempt proves nothing, so a gate in CI must not pass on it.
    if judged is None:
        shared = counted(comparison.tasks, "shared task")
        raise InputError(
            f"cannot test for a regression: of {shared} none has a judged attempt in both runs, "
            "without task and infrastructure errors; run it again"
        )
    if judged.difference < 0 and judged.is_significant:
        parts = formatting.statement(judged)
        return f"regression: {parts.difference}, {parts.interval}. {parts.verdict}. {parts.test}."
    return None


def doubts(comparison: Comparison, *, strict: bool) -> tuple[str, ...]:
    """Why a result without a regression may be unreliable."""
    judged = comparison.judged
    if strict or judged is None:
        return ()
    found = []
    if judged.detectable is None:
        found.append(
            f"too few tasks ({judged.tasks}) to detect any regression: add tasks, or use --strict"
        )
    unjudged = comparison.tasks - judged.tasks
    if unjudged:
        shared = counted(comparison.tasks, "shared task")
        found.append(f"no judged attempt: {unjudged} of {shared}")
    return tuple(found)
