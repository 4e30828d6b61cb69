"""A run in numbers: the resolved rate with its interval, and the other outcomes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import counted, printable
from agentbench.integrity.records import ControlKind
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring import statistics
from agentbench.scoring.paired_comparison import TaskPair, TaskPairs
from agentbench.scoring.statistics import Interval, PassRates, Scores, TaskScore
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

_Key = TypeVar("_Key")

# They say nothing about the agent, so the second denominator excludes them. The first one never
# does: an attempt that is left out of both would make a rate look better than the run was.
EXCLUDED_FAULTS = frozenset({Fault.TASK, Fault.INFRASTRUCTURE})
TAMPERED = "tampered with tests"
"""The name of the count of attempts that changed tests or their configuration."""
_MAX_CHARACTERS = 300
_AGENT_ERRORS = frozenset(
    {FailureReason.UNKNOWN, FailureReason.TOOL_ERROR, FailureReason.INTERRUPTED}
)


class TaskOutcome(NamedTuple):
    """The outcomes of the attempts at one task."""

    resolved: int = 0
    attempts: int = 0
    judged: int = 0  # excluding task and infrastructure errors

    @property
    def overall_score(self) -> TaskScore:
        return TaskScore(self.resolved, self.attempts)

    @property
    def judged_score(self) -> TaskScore | None:
        """The score over judged attempts; None if there are none."""
        return TaskScore(self.resolved, self.judged) if self.judged else None


def outcomes_by_task(attempts: Iterable[AttemptSummary]) -> dict[TaskId, TaskOutcome]:
    """The outcome of each task; equal ones are shared."""
    by_task: dict[TaskId, TaskOutcome] = {}
    # A report on a million records may take 500 MB (docs/performance.md), and takes nearly all.
    shared: dict[TaskOutcome, TaskOutcome] = {}
    for attempt in attempts:
        resolved, number, judged = by_task.get(attempt.task_id, TaskOutcome())
        is_judged = attempt.fault not in EXCLUDED_FAULTS
        outcome = TaskOutcome(resolved + attempt.resolved, number + 1, judged + is_judged)
        by_task[attempt.task_id] = shared.setdefault(outcome, outcome)
    return by_task


def overall_scores(outcomes: Mapping[TaskOutcome, int]) -> Scores:
    """The number of tasks with each score over all attempts, from the numbers of outcomes."""
    return _summed((each.overall_score, tasks) for each, tasks in outcomes.items())


def judged_scores(outcomes: Mapping[TaskOutcome, int]) -> Scores:
    """The number of tasks with each score over judged attempts, from the numbers of outcomes."""
    return _summed((each.judged_score, tasks) for each, tasks in outcomes.items())


OutcomePairs = Mapping[tuple[TaskOutcome, TaskOutcome], int]
"""The number of tasks with each pair of outcomes in two runs."""


def overall_pairs(both: OutcomePairs) -> TaskPairs:
    """The pairs of two runs' scores over all attempts."""
    return _summed(
        (TaskPair(first.overall_score, second.overall_score), tasks)
        for (first, second), tasks in both.items()
    )


def judged_pairs(both: OutcomePairs) -> TaskPairs:
    """The pairs of scores over judged attempts, for tasks with some in both runs."""
    return _summed(
        (TaskPair(one, other), tasks)
        for (first, second), tasks in both.items()
        if (one := first.judged_score) is not None and (other := second.judged_score) is not None
    )


def _summed(numbers: Iterable[tuple[_Key | None, int]]) -> Counter[_Key]:
    """The sum of the numbers of each key; those without a key are omitted."""
    sums: Counter[_Key] = Counter()
    for key, number in numbers:
        if key is not None:
            sums[key] += number
    return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The share of resolved attempts, with the 95 % Wilson interval.

    If a task has several attempts, the interval is clustered by task.
    """

    resolved: int
    total: int
    tasks: int | None = None  # the number of tasks, if some have several attempts
    effective: float | None = None  # the effective number of independent attempts

    @classmethod
    def of(cls, scores: Scores) -> "Rate":
        resolved = sum(score.resolved * count for score, count in scores.items())
        total = sum(score.attempts * count for score, count in scores.items())
        tasks = sum(scores.values())
        if total == tasks:
            return cls(resolved=resolved, total=total)
        effective = statistics.effective_attempts(scores)
        return cls(resolved=resolved, total=total, tasks=tasks, effective=effective)

    @property
    def share(self) -> float:
        """0 to 1; 0 without attempts."""
        return self.resolved / self.total if self.total else 0.0

    @property
    def is_clustered(self) -> bool:
        return self.tasks is not None

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of the share."""
        return statistics.wilson_bounds(
            self.share, self.total if self.effective is None else self.effective
        )

    def __str__(self) -> str:
        if not self.total:
            return "0/0"
        low, high = (f"{100 * bound:.1f}" for bound in self.interval)
        percent = f"{100 * self.share:.1f}"
        of_tasks = "" if self.tasks is None else f" over {counted(self.tasks, 'task')}"
        return f"{self.resolved}/{self.total} ({percent} %, 95 % CI {low}\u2013{high}{of_tasks})"


class PerResolved(NamedTuple):
    """The effort of all attempts per resolved one; None if unknown or none is resolved."""

    cost_usd: float | None
    tokens: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSummary:
    """The summary of some attempts; `overall` includes all of them."""

    overall: Rate
    judged: Rate  # excluding task and infrastructure errors
    tasks: int
    passes: tuple[PassRates, ...]  # pass@k and pass^k over all attempts, for k = 1 and up
    judged_passes: tuple[PassRates, ...]  # over judged attempts
    reasons: tuple[tuple[FailureReason, int], ...]
    faults: tuple[tuple[Fault, int], ...]
    quarantined: int
    tampered: int  # attempts whose agent changed tests or their configuration
    infrastructure: int
    metered: int  # attempts with counted model calls; the cost of others is unknown
    cost_usd: float | None  # of those; None: a price is unknown
    tokens: int  # of those, in and out
    attempt_seconds: float  # summed over the attempts
    controls: tuple[tuple[ControlKind, int], ...]  # the tests to fix that passed, by kind

    @classmethod
    def of(cls, attempts: Iterable[AttemptRecord | AttemptSummary]) -> "ResultSummary":
        summaries = list(map(AttemptSummary.of, attempts))
        outcomes = Counter(outcomes_by_task(summaries).values())
        overall, judged = overall_scores(outcomes), judged_scores(outcomes)
        reasons = Counter(each.failure_reason for each in summaries if each.failure_reason)
        faults = Counter(each.fault for each in summaries)
        metered = [each for each in summaries if each.is_metered]
        costs = [each.cost_usd for each in metered]
        controls = zip(*(each.controls for each in summaries if each.controls), strict=True)
        return cls(
            overall=Rate.of(overall),
            judged=Rate.of(judged),
            tasks=sum(overall.values()),
            passes=statistics.pass_rates(overall),
            judged_passes=statistics.pass_rates(judged),
            reasons=tuple(sorted(reasons.items(), key=lambda item: item[0].precedence)),
            faults=tuple((fault, faults[fault]) for fault in Fault if faults[fault]),
            quarantined=sum(each.quarantined for each in summaries),
            tampered=sum(each.tampered > 0 for each in summaries),
            infrastructure=faults[Fault.INFRASTRUCTURE],
            metered=len(metered),
            cost_usd=None if None in costs else sum(filter(None, costs), 0.0),
            tokens=sum(each.tokens or 0 for each in metered),
            attempt_seconds=sum((each.total_s for each in summaries), 0.0),
            controls=tuple(zip(ControlKind, map(sum, controls), strict=False)),
        )

    @property
    def reason_counts(self) -> tuple[str, ...]:
        """The reasons with their numbers; says how many of these attempts are quarantined."""
        # Named within their reason: quarantined attempts are not counted on top of it.
        return tuple(
            f"{count} {reason} ({self.quarantined} quarantined)"
            if self.quarantined and reason is FailureReason.TESTS_FAILED
            else f"{count} {reason}"
            for reason, count in self.reasons
        )

    @property
    def excluded(self) -> int:
        """The number of attempts that `judged` excludes."""
        return self.overall.total - self.judged.total

    @property
    def per_resolved(self) -> PerResolved:
        """The dollars, tokens and seconds of all attempts per resolved one."""
        resolved = self.overall.resolved
        if not resolved:
            return PerResolved(None, None, None)
        # An agent that calls its model past the gateway is not free of charge.
        cost_usd = self.cost_usd if self.metered else None
        return PerResolved(
            cost_usd=None if cost_usd is None else cost_usd / resolved,
            tokens=self.tokens / resolved if self.metered else None,
            seconds=self.attempt_seconds / resolved,
        )


def summary_line(summary: ResultSummary, *, seconds: float, folder: str) -> str:
    """The last line of a run's output."""
    parts = [f"resolved {summary.overall}"]
    if summary.excluded:
        count = counted(summary.excluded, "attempt")
        parts.append(f"{summary.judged} with {count} excluded (task or infrastructure error)")
    parts += summary.reason_counts
    if summary.tampered:
        parts.append(f"{TAMPERED}: {summary.tampered}")
    parts.append(f"{seconds:.0f} s")
    parts.append("cost unknown" if summary.cost_usd is None else f"${summary.cost_usd:.2f}")
    parts.append(folder)
    return " · ".join(parts)


def common_agent_error(attempts: Sequence[AttemptSummary]) -> str | None:
    """A line about the agent error in which all attempts ended; None if there is none.

    Errors are the same if their first words are: an exception's class, or a command's ending.
    """
    if any(
        attempt.fault is not Fault.AGENT or attempt.failure_reason not in _AGENT_ERRORS
        for attempt in attempts
    ):
        return None
    if len({(each.failure_reason, each.detail.partition(":")[0]) for each in attempts}) != 1:
        return None
    detail = printable(attempts[0].detail, limit=_MAX_CHARACTERS)
    if len(attempts) == 1:
        return f"The attempt ended in an agent error: {detail}"
    return f"All {len(attempts)} attempts ended in the same agent error: {detail}"
