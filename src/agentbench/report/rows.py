"""One row per attempt: the columns that every tabular report shows."""

from collections.abc import Sequence
from typing import NamedTuple

from agentbench.report.harmless import harmless
from agentbench.runs.record import AttemptRecord


class Row(NamedTuple):
    """An attempt as a row of text."""

    run: str
    task: str
    attempt: str
    agent: str
    verdict: str
    reason: str
    fault: str
    tests: str
    seconds: str
    cost: str
    detail: str


HEADER = Row(
    "run",
    "task",
    "attempt",
    "agent",
    "verdict",
    "reason",
    "fault",
    "tests",
    "seconds",
    "cost",
    "detail",
)


def rows_of(records: Sequence[AttemptRecord]) -> list[Row]:
    """A row for each record, by task, attempt and run."""
    ordered = sorted(records, key=lambda each: (each.task_id, each.attempt, each.run_id))
    return [_row(record) for record in ordered]


def verdict_word(record: AttemptRecord) -> str:
    """`resolved`, `quarantined` or `failed`."""
    if record.resolved:
        return "resolved"
    return "quarantined" if record.quarantined else "failed"


def _row(record: AttemptRecord) -> Row:
    counts = record.counts
    usage = record.usage
    cost = "" if usage is None else "?" if usage.cost_usd is None else f"{usage.cost_usd:.4f}"
    others = (
        (counts.still_failing, "failing"),
        (counts.regressed, "regressed"),
        (counts.unrun, "not run"),
    )
    tests = [f"{counts.fixed} fixed", *(f"{number} {word}" for number, word in others if number)]
    return Row(
        run=record.run_id,
        task=record.task_id,
        attempt=str(record.attempt),
        agent=harmless(record.agent),
        verdict=verdict_word(record),
        reason=record.failure_reason.value if record.failure_reason else "",
        fault=record.fault.value if record.fault else "",
        tests=", ".join(tests),
        seconds=f"{record.timing.total_s:.1f}",
        cost=cost,
        detail=harmless(record.detail),
    )
