"""One row per attempt: the columns that every tabular report shows."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import NamedTuple

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import printable
from agentbench.runs.store.summaries import AttemptSummary, Counts


class AttemptRow(NamedTuple):
    """An attempt as a row of text."""

    run: str
    task: str
    attempt: str
    agent: str
    model: str
    verdict: str
    reason: str
    fault: str
    tests: str
    seconds: str
    cost: str
    detail: str


HEADER = AttemptRow(*AttemptRow._fields)


def in_order(attempts: Iterable[AttemptRecord | AttemptSummary]) -> list[AttemptSummary]:
    """Attempts by task, attempt and run."""
    ordered = [AttemptSummary.of(attempt) for attempt in attempts]
    # Three stable sorts, without a tuple for each attempt.
    for field in ("run_id", "attempt", "task_id"):
        ordered.sort(key=attrgetter(field))
    return ordered


def rows(attempts: Iterable[AttemptSummary]) -> Iterator[AttemptRow]:
    """Yield a row for each attempt."""
    cells = cell_makers()
    for each in attempts:
        yield AttemptRow._make([cell(each) for cell in cells])


def cell_makers() -> tuple[Callable[[AttemptSummary], str], ...]:
    """The functions that create the cells of a row, in order; repeated texts are cached."""
    shown = cache(printable)
    tests = cache(_tests_text)
    return (
        attrgetter("run_id"),
        attrgetter("task_id"),
        lambda each: str(each.attempt),
        lambda each: shown(each.agent),
        lambda each: shown(each.model or ""),
        verdict_word,
        lambda each: each.failure_reason.value if each.failure_reason else "",
        lambda each: each.fault.value if each.fault else "",
        lambda each: shown(each.rewards) or tests(each.counts),
        lambda each: f"{each.total_s:.1f}",
        _cost,
        lambda each: printable(each.detail),
    )


def verdict_word(attempt: AttemptRecord | AttemptSummary) -> str:
    """`resolved`, `quarantined` or `failed`."""
    if attempt.resolved:
        return "resolved"
    return "quarantined" if attempt.quarantined else "failed"


def _cost(attempt: AttemptSummary) -> str:
    if not attempt.is_metered:
        return ""
    return "?" if attempt.cost_usd is None else f"{attempt.cost_usd:.4f}"


def _tests_text(counts: Counts) -> str:
    others = (
        (counts.still_failing, "failing"),
        (counts.regressed, "regressed"),
        (counts.unrun, "not run"),
    )
    parts = [f"{counts.fixed} fixed", *(f"{number} {word}" for number, word in others if number)]
    return ", ".join(parts)
