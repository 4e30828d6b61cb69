"""What reports say, as JSON documents."""

from collections.abc import Sequence

from agentbench.report.comparison import Comparison, Flip
from agentbench.report.leaderboard import Leaderboard
from agentbench.report.summary import Rate, Summary
from agentbench.scoring.paired import Difference
from agentbench.scoring.pass_at_k import PassRates


def document(summary: Summary) -> dict[str, object]:
    """A summary."""
    return {
        "overall": _rate(summary.overall),
        "judged": _rate(summary.judged),
        "tasks": summary.tasks,
        "pass_at_k": _passes(summary.passes),
        "judged_pass_at_k": _passes(summary.judged_passes),
        "reasons": {reason.value: count for reason, count in summary.reasons},
        "faults": {fault.value: count for fault, count in summary.faults},
        "quarantined": summary.quarantined,
        "metered_attempts": summary.metered,
        "cost_usd": summary.cost_usd,
        "tokens": summary.tokens,
        "attempt_seconds": summary.attempt_seconds,
        "per_resolved": {
            "cost_usd": summary.cost_per_resolved,
            "tokens": summary.tokens_per_resolved,
            "seconds": summary.seconds_per_resolved,
        },
    }


def leaderboard_document(board: Leaderboard) -> dict[str, object]:
    """A leaderboard; `p_value` is corrected for the number of pairs."""
    names = [standing.label for standing in board.standings]
    return {
        "tasks": board.tasks,
        "common_tasks": board.common,
        "standings": [
            {
                "label": standing.label,
                "group": standing.group or None,
                "common": _rate(standing.common),
                "summary": document(standing.summary),
            }
            for standing in board.standings
        ],
        "pairs": [
            {
                "first": names[pair.first],
                "second": names[pair.second],
                "tasks": pair.tasks,
                "p_value": pair.p_value,
            }
            for pair in board.pairs
        ],
    }


def comparison_document(comparison: Comparison, names: tuple[str, str]) -> dict[str, object]:
    """A comparison."""
    first, second = names
    judged = comparison.judged
    return {
        "first": {"label": first, **document(comparison.first)},
        "second": {"label": second, **document(comparison.second)},
        "tasks": comparison.tasks,
        "overall": _difference(comparison.overall),
        "judged": None if judged is None else _difference(judged),
        "gained": _flips(comparison.gained),
        "lost": _flips(comparison.lost),
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
        "changed_tasks": list(comparison.changed),
        "changed_interpreters": [
            {"task_id": change.task_id, "first": change.first, "second": change.second}
            for change in comparison.interpreters
        ],
    }


def _difference(difference: Difference) -> dict[str, object]:
    return {
        "tasks": difference.tasks,
        "difference": difference.difference,
        "interval_95": list(difference.interval),
        "test": difference.test,
        "p_value": difference.p_value,
        "detectable": difference.detectable,
    }


def _flips(flips: Sequence[Flip]) -> list[dict[str, object]]:
    return [
        {"task_id": flip.task_id, "first": _count(flip.first), "second": _count(flip.second)}
        for flip in flips
    ]


def _count(rate: Rate) -> dict[str, int]:
    return {"resolved": rate.resolved, "total": rate.total}


def _passes(passes: Sequence[PassRates]) -> list[dict[str, object]]:
    return [
        {"k": rates.k, "any_of_k": rates.any_of_k, "all_of_k": rates.all_of_k} for rates in passes
    ]


def _rate(rate: Rate) -> dict[str, object]:
    low, high = rate.interval
    return {
        "resolved": rate.resolved,
        "total": rate.total,
        "rate": rate.share,
        "interval_95": [low, high],
        "clustered_by_task": rate.tasks is not None,
    }
