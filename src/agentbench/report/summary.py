"""A run in numbers: how many were resolved, how sure that is, and what became of the others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agentbench.runs.record import AttemptRecord
from agentbench.scoring.statistics import Interval, wilson_interval
from agentbench.scoring.taxonomy import FailureReason, Fault


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
    def of(cls, records: Sequence[AttemptRecord]) -> "Summary":
        """Count records."""
        resolved = sum(record.resolved for record in records)
        lost = sum(record.fault in {Fault.TASK, Fault.INFRASTRUCTURE} for record in records)
        reasons = Counter(r.failure_reason for r in records if r.failure_reason is not None)
        costs = [record.usage.cost_usd for record in records if record.usage is not None]
        known = [cost for cost in costs if cost is not None]
        return cls(
            overall=Rate(resolved=resolved, total=len(records)),
            judged=Rate(resolved=resolved, total=len(records) - lost),
            reasons=tuple(sorted(reasons.items(), key=lambda item: item[0].precedence)),
            quarantined=sum(record.quarantined for record in records),
            infrastructure=sum(record.fault is Fault.INFRASTRUCTURE for record in records),
            cost_usd=sum(known) if len(known) == len(costs) else None,
            attempt_seconds=sum(record.timing.total_s for record in records),
        )


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
