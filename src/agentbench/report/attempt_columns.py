"""The columns of attempts in tables, CSV, Markdown and web pages: each one is declared here once.

To add a column, add a row to `COLUMNS`. A fact that records have and summaries lack needs a field
of `AttemptSummary` as well.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import counted, printable
from agentbench.report.text_table import TableColumn
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.verdict import ChangeCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptColumn(TableColumn):
    """A fact about attempts, as text."""

    cell: Callable[[AttemptSummary], str]
    """The text of an attempt; it is safe to print."""
    is_foreign: bool = False
    """Whether tasks, agents or models choose the text; Markdown shows it as code."""
    in_table: bool = True
    """Whether a terminal shows it. CSV and Markdown have all columns."""
    is_always_shown: bool = False
    """Otherwise a terminal omits a column whose cells are all empty or 1."""
    is_of_run: bool = False
    """Whether a terminal omits it where all attempts have the same text."""


def in_order(attempts: Iterable[AttemptRecord | AttemptSummary]) -> list[AttemptSummary]:
    """Attempts by task, attempt and run."""
    return sorted(
        map(AttemptSummary.of, attempts), key=lambda one: (one.task_id, one.attempt, one.run_id)
    )


def rows(attempts: Iterable[AttemptSummary]) -> Iterator[dict[str, str]]:
    """The cells of each attempt by the names of their columns."""
    return ({column.name: column.cell(each) for column in COLUMNS} for each in attempts)


def verdict_word(attempt: AttemptRecord | AttemptSummary) -> str:
    """`resolved`, `quarantined` or `failed`."""
    if attempt.resolved:
        return "resolved"
    return "quarantined" if attempt.quarantined else "failed"


def cost_text(attempt: AttemptSummary, *, unit: str = "") -> str:
    """The cost of an attempt in dollars; empty without a model, `?` without a price."""
    if not attempt.is_metered:
        return ""
    return "?" if attempt.cost_usd is None else f"{unit}{attempt.cost_usd:.4f}"


def tampered_text(attempt: AttemptSummary) -> str:
    """The number of tests and configuration files that the agent changed; empty for none."""
    return counted(attempt.tampered, "file") if attempt.tampered else ""


def _tests_text(counts: ChangeCounts) -> str:
    others = (
        (counts.still_failing, "failing"),
        (counts.regressed, "regressed"),
        (counts.unrun, "not run"),
    )
    parts = [f"{counts.fixed} fixed", *(f"{number} {word}" for number, word in others if number)]
    return ", ".join(parts)


COLUMNS = (
    AttemptColumn(name="run", cell=lambda each: each.run_id, is_foreign=True, is_of_run=True),
    AttemptColumn(
        name="task", cell=lambda each: each.task_id, is_foreign=True, is_always_shown=True
    ),
    AttemptColumn(name="attempt", cell=lambda each: str(each.attempt), is_right=True),
    AttemptColumn(
        name="agent",
        cell=lambda each: printable(each.agent),
        is_foreign=True,
        is_of_run=True,
        below=3,
    ),
    AttemptColumn(
        name="model",
        cell=lambda each: printable(each.model or ""),
        is_foreign=True,
        is_of_run=True,
        below=3,
    ),
    AttemptColumn(
        name="verdict",
        cell=verdict_word,
        is_always_shown=True,
        styles={"resolved": "green", "failed": "red", "quarantined": "magenta"},
    ),
    AttemptColumn(
        name="reason", cell=lambda each: each.failure_reason.value if each.failure_reason else ""
    ),
    AttemptColumn(
        name="fault", cell=lambda each: each.fault.value if each.fault else "", in_table=False
    ),
    AttemptColumn(
        name="tests",
        cell=lambda each: printable(each.rewards) or _tests_text(each.counts),
        is_always_shown=True,
        below=2,
    ),
    AttemptColumn(name="tampered", cell=tampered_text),
    AttemptColumn(
        name="seconds", cell=lambda each: f"{each.total_s:.1f}", is_right=True, is_always_shown=True
    ),
    AttemptColumn(name="cost", cell=cost_text, in_table=False),
    AttemptColumn(
        name="detail", cell=lambda each: printable(each.detail), is_foreign=True, below=1
    ),
)
