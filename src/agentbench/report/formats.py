"""Records as a table for a terminal, and as JSON, CSV or Markdown."""

import csv
import io
import json
from collections.abc import Sequence
from enum import StrEnum

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbench.report.rows import HEADER, Row, rows_of
from agentbench.report.summary import Rate, Summary
from agentbench.runs.record import AttemptRecord

_STYLES = {"resolved": "green", "failed": "red", "quarantined": "magenta"}
_SHOWN = ("run", "agent", "task", "attempt", "verdict", "reason", "tests", "seconds", "detail")
_ALWAYS = frozenset({"task", "verdict", "tests", "seconds"})
_OF_THE_RUN = frozenset({"run", "agent"})
_FOLDED = _OF_THE_RUN | {"detail"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would take for one


class Format(StrEnum):
    """A format of `agentbench report`."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def render(records: Sequence[AttemptRecord], chosen: Format) -> str:
    """Records in a format other than the terminal's table."""
    match chosen:
        case Format.JSON:
            return json.dumps(document(records), indent=1) + "\n"
        case Format.CSV:
            return _csv(rows_of(records))
        case Format.MARKDOWN:
            return _markdown(rows_of(records), Summary.of(records))
        case Format.TABLE:
            buffer = io.StringIO()
            print_table(records, Console(file=buffer, width=160, color_system=None))
            return buffer.getvalue()


def print_table(records: Sequence[AttemptRecord], console: Console) -> None:
    """Records as a table at a terminal; columns that would tell nothing stay away."""
    rows = rows_of(records)
    shown = [
        name
        for name in _SHOWN
        if name in _ALWAYS or _tells(name, {row._asdict()[name] for row in rows})
    ]
    table = Table(box=SIMPLE, pad_edge=False)
    for name in shown:
        right = name in {"attempt", "seconds"}
        table.add_column(
            name,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=name not in _FOLDED,
        )
    for row in rows:
        cells = row._asdict()
        style = _STYLES.get(row.verdict, "")
        texts = (Text(cells[name], style=style if name == "verdict" else "") for name in shown)
        table.add_row(*texts)
    console.print(table)


def _tells(name: str, cells: set[str]) -> bool:
    """Whether a column is worth its room: not where it is empty, or says 1 in every row.

    Whose run it was is told where there are several.
    """
    return len(cells) > 1 if name in _OF_THE_RUN else bool(cells - {"", "1"})


def document(records: Sequence[AttemptRecord]) -> dict[str, object]:
    """The JSON document: a summary, and every record whole."""
    summary = Summary.of(records)
    return {
        "summary": {
            "overall": _rate(summary.overall),
            "judged": _rate(summary.judged),
            "reasons": {reason.value: count for reason, count in summary.reasons},
            "quarantined": summary.quarantined,
            "cost_usd": summary.cost_usd,
            "attempt_seconds": summary.attempt_seconds,
        },
        "attempts": [record.model_dump(mode="json") for record in records],
    }


def _rate(rate: Rate) -> dict[str, object]:
    low, high = rate.interval
    return {
        "resolved": rate.resolved,
        "total": rate.total,
        "rate": rate.share,
        "interval_95": [low, high],
    }


def _csv(rows: Sequence[Row]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([_no_formula(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def _no_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _markdown(rows: Sequence[Row], summary: Summary) -> str:
    lines = [f"resolved {summary.overall}", ""]
    lines.append(_markdown_row(HEADER))
    lines.append(_markdown_row(["---"] * len(HEADER)))
    lines += [_markdown_row([_escaped(cell) for cell in row]) for row in rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(cell: str) -> str:
    for char in "\\`*_{}[]<>|#&~":
        cell = cell.replace(char, f"\\{char}")
    return cell
