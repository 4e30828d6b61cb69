"""A run in numbers: how many were resolved, how sure that is, and what became of the others."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentbench.runs.headline import Headline
from agentbench.runs.record import AttemptRecord
from agentbench.scoring.statistics import Interval, wilson_interval
from agentbench.scoring.taxonomy import FailureReason, Fault

_LOST = frozenset({Fault.TASK, Fault.INFRASTRUCTURE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Resolved attempts of some attempts, with the 95 % Wilson interval."""

    resolved: int
    total: int

    @property
    def share(self) -> float:
        """0 to 1; 0 where there are no attempts."""
        return self.resolved / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of the share."""
        return wilson_interval(self.resolved, self.total)

    def __str__(self) -> str:
        if not self.total:
            return "0/0"
        low, high = (f"{100 * bound:.1f}" for bound in self.interval)
        percent = f"{100 * self.share:.1f}"
        return f"{self.resolved}/{self.total} ({percent} %, 95 % CI {low}\u2013{high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came out of some attempts; none of them is ever left out of `overall`."""

    overall: Rate
    judged: Rate  # without those lost to the task or the infrastructure
    reasons: tuple[tuple[FailureReason, int], ...]
    quarantined: int
    infrastructure: int
    cost_usd: float | None  # None: some price is not known
    attempt_seconds: float  # added up over the attempts

    @classmethod
    def of(cls, attempts: Iterable[AttemptRecord | Headline]) -> "Summary":
        """Count attempts; none is kept."""
        tally = _Tally()
        for attempt in attempts:
            tally.add(Headline.of(attempt))
        return cls(
            overall=Rate(resolved=tally.resolved, total=tally.total),
            judged=Rate(resolved=tally.resolved, total=tally.total - tally.lost),
            reasons=tuple(sorted(tally.reasons.items(), key=lambda item: item[0].precedence)),
            quarantined=tally.quarantined,
            infrastructure=tally.infrastructure,
            cost_usd=tally.cost_usd if tally.is_cost_known else None,
            attempt_seconds=tally.seconds,
        )


@dataclass(slots=True)
class _Tally:
    total: int = 0
    resolved: int = 0
    lost: int = 0
    quarantined: int = 0
    infrastructure: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0
    is_cost_known: bool = True
    reasons: Counter[FailureReason] = field(default_factory=Counter)

    def add(self, attempt: Headline) -> None:
        self.total += 1
        self.resolved += attempt.resolved
        self.lost += attempt.fault in _LOST
        self.quarantined += attempt.quarantined
        self.infrastructure += attempt.fault is Fault.INFRASTRUCTURE
        self.seconds += attempt.total_s
        if attempt.failure_reason is not None:
            self.reasons[attempt.failure_reason] += 1
        if attempt.is_metered:
            self.is_cost_known &= attempt.cost_usd is not None
            self.cost_usd += attempt.cost_usd or 0.0


def summary_line(summary: Summary, *, seconds: float, folder: str) -> str:
    """The line that a run ends with."""
    parts = [f"resolved {summary.overall}"]
    if summary.judged.total != summary.overall.total:
        lost = summary.overall.total - summary.judged.total
        parts.append(f"{summary.judged} without {lost} lost to task or infrastructure")
    parts += [f"{count} {reason}" for reason, count in summary.reasons]
    if summary.quarantined:
        parts.append(f"{summary.quarantined} quarantined")
    parts.append(f"{seconds:.0f} s")
    parts.append("$?" if summary.cost_usd is None else f"${summary.cost_usd:.2f}")
    parts.append(folder)
    return " · ".join(parts)
