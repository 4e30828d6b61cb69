"""A run in numbers: how many were resolved, how sure that is, and what became of the others."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentbench.report.task_outcomes import TaskOutcomes
from agentbench.runs.headline import Headline
from agentbench.runs.record import AttemptRecord
from agentbench.scoring.clustered import effective_attempts
from agentbench.scoring.pass_at_k import PassRates, pass_rates
from agentbench.scoring.statistics import Interval, wilson_bounds
from agentbench.scoring.task_score import Scores
from agentbench.scoring.taxonomy import FailureReason, Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Resolved attempts of some attempts, with the 95 % Wilson interval.

    Where a task has several attempts the interval is clustered by task.
    """

    resolved: int
    total: int
    tasks: int | None = None  # where some have several attempts: how many tasks they are of
    effective: float | None = None  # and how many independent attempts would tell as much

    @classmethod
    def of(cls, scores: Scores) -> "Rate":
        """The rate over all attempts at some tasks."""
        resolved = sum(score.resolved * count for score, count in scores.items())
        total = sum(score.attempts * count for score, count in scores.items())
        tasks = sum(scores.values())
        if total == tasks:
            return cls(resolved=resolved, total=total)
        effective = effective_attempts(scores)
        return cls(resolved=resolved, total=total, tasks=tasks, effective=effective)

    @property
    def share(self) -> float:
        """0 to 1; 0 where there are no attempts."""
        return self.resolved / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of the share."""
        return wilson_bounds(self.share, self.total if self.effective is None else self.effective)

    def __str__(self) -> str:
        if not self.total:
            return "0/0"
        low, high = (f"{100 * bound:.1f}" for bound in self.interval)
        percent = f"{100 * self.share:.1f}"
        of_tasks = "" if self.tasks is None else f" over {_counted(self.tasks, 'task')}"
        return f"{self.resolved}/{self.total} ({percent} %, 95 % CI {low}\u2013{high}{of_tasks})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came out of some attempts; none of them is ever left out of `overall`."""

    overall: Rate
    judged: Rate  # without those lost to the task or the infrastructure
    tasks: int
    passes: tuple[PassRates, ...]  # pass@k and pass^k over all attempts, for k = 1 and up
    judged_passes: tuple[PassRates, ...]  # over those that `judged` counts
    reasons: tuple[tuple[FailureReason, int], ...]
    faults: tuple[tuple[Fault, int], ...]
    quarantined: int
    infrastructure: int
    metered: int  # attempts whose model calls were counted: of others nobody knows the cost
    cost_usd: float | None  # of those; None: some price is not known
    tokens: int  # of those, in and out
    attempt_seconds: float  # added up over the attempts

    @classmethod
    def of(
        cls,
        attempts: Iterable[AttemptRecord | Headline],
        *,
        outcomes: TaskOutcomes | None = None,
    ) -> "Summary":
        """Count attempts; none is kept. They are counted by task into `outcomes`, if given."""
        tally = _Tally(outcomes=TaskOutcomes() if outcomes is None else outcomes)
        for attempt in attempts:
            tally.add(Headline.of(attempt))
        overall, judged = tally.outcomes.overall(), tally.outcomes.judged()
        return cls(
            overall=Rate.of(overall),
            judged=Rate.of(judged),
            tasks=sum(overall.values()),
            passes=pass_rates(overall),
            judged_passes=pass_rates(judged),
            reasons=tuple(sorted(tally.reasons.items(), key=lambda item: item[0].precedence)),
            faults=tuple((fault, tally.faults[fault]) for fault in Fault if tally.faults[fault]),
            quarantined=tally.quarantined,
            infrastructure=tally.faults[Fault.INFRASTRUCTURE],
            metered=tally.metered,
            cost_usd=tally.cost_usd if tally.is_cost_known else None,
            tokens=tally.tokens,
            attempt_seconds=tally.seconds,
        )

    @property
    def lost(self) -> int:
        """How many attempts `judged` leaves out."""
        return self.overall.total - self.judged.total

    @property
    def cost_per_resolved(self) -> float | None:
        """USD spent for each resolved attempt; None where that is unknown or none is."""
        is_known = self.metered and self.cost_usd is not None
        return self._per_resolved(self.cost_usd or 0.0) if is_known else None

    @property
    def tokens_per_resolved(self) -> float | None:
        """Tokens used for each resolved attempt; None where none is, or none were counted."""
        return self._per_resolved(self.tokens) if self.metered else None

    @property
    def seconds_per_resolved(self) -> float | None:
        """Seconds of attempts for each resolved one; None where none is."""
        return self._per_resolved(self.attempt_seconds)

    def _per_resolved(self, amount: float) -> float | None:
        return amount / self.overall.resolved if self.overall.resolved else None


@dataclass(slots=True)
class _Tally:
    outcomes: TaskOutcomes
    quarantined: int = 0
    seconds: float = 0.0
    metered: int = 0
    cost_usd: float = 0.0
    is_cost_known: bool = True
    tokens: int = 0
    reasons: Counter[FailureReason] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)

    def add(self, attempt: Headline) -> None:
        self.outcomes.add(attempt)
        self.quarantined += attempt.quarantined
        self.seconds += attempt.total_s
        if attempt.failure_reason is not None:
            self.reasons[attempt.failure_reason] += 1
        if attempt.fault is not None:
            self.faults[attempt.fault] += 1
        if attempt.is_metered:
            self.metered += 1
            self.is_cost_known &= attempt.cost_usd is not None
            self.cost_usd += attempt.cost_usd or 0.0
            self.tokens += attempt.tokens or 0


def summary_line(summary: Summary, *, seconds: float, folder: str) -> str:
    """The line that a run ends with."""
    parts = [f"resolved {summary.overall}"]
    if summary.lost:
        parts.append(f"{summary.judged} without {summary.lost} lost to task or infrastructure")
    parts += [f"{count} {reason}" for reason, count in summary.reasons]
    if summary.quarantined:
        parts.append(f"{summary.quarantined} quarantined")
    parts.append(f"{seconds:.0f} s")
    parts.append("$?" if summary.cost_usd is None else f"${summary.cost_usd:.2f}")
    parts.append(folder)
    return " · ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
