"""The table of attempts: every one with its verdict, reason and detail."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentbench.report.harmless import harmless
from agentbench.report.html.shown_run import ShownRun
from agentbench.report.rows import Row, rows

MOST_ROWS = 10_000
"""Of the table; a browser holds so many at ease."""

_DETAIL = 400  # characters; `agentbench show` prints it whole
_NAME = 80


class AttemptLine(NamedTuple):
    """One row of the table."""

    label: str  # of its run
    began: str
    row: Row


def attempt_lines(
    labels: Sequence[str], runs: Sequence[ShownRun], *, most: int
) -> Iterator[AttemptLine]:
    """A row for each attempt, run by run, up to the most that a page is to hold."""
    left = most
    for label, run in zip(labels, runs, strict=True):
        lines = zip(run.attempts[:left], run.starts, strict=False)
        for attempt, start in lines:
            (row,) = rows([attempt])
            yield AttemptLine(label, f"{start:%Y-%m-%d %H:%M:%S}", _short(row))
        left -= min(left, len(run.attempts))


def _short(row: Row) -> Row:
    """A row whose texts are no longer than a table can bear; what was cut ends in an ellipsis."""
    return row._replace(
        agent=harmless(row.agent, limit=_NAME),
        model=harmless(row.model, limit=_NAME),
        detail=harmless(row.detail, limit=_DETAIL),
    )
