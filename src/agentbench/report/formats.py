"""Records as a table for a terminal, and as JSON or CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, zip_longest
from operator import attrgetter

from rich.console import Console

from agentbench.report.agent_results import AgentResult, results_by_agent
from agentbench.report.documents import LeaderboardDocument, ReportDocument, ResultDocument
from agentbench.report.leaderboard import Entrant, Leaderboard
from agentbench.report.markdown import markdown_pieces
from agentbench.report.rows import HEADER, cells_of, in_order, rows
from agentbench.report.text_table import Column, print_rows
from agentbench.runs.headline import Headline
from agentbench.runs.record import AttemptRecord

_STYLES = {"resolved": "green", "failed": "red", "quarantined": "magenta"}
_SHOWN = (
    "run",
    "agent",
    "model",
    "task",
    "attempt",
    "verdict",
    "reason",
    "tests",
    "seconds",
    "detail",
)
_BELOW = {"detail": 1, "tests": 2, "model": 3, "agent": 3}  # where there is little room
_ALWAYS = frozenset({"task", "verdict", "tests", "seconds"})
_OF_THE_RUN = frozenset({"run", "agent", "model"})
_RIGHT = frozenset({"attempt", "seconds"})
_COLUMNS = {
    name: Column(
        name=name,
        is_right=name in _RIGHT,
        below=_BELOW.get(name, 0),
        styles=_STYLES if name == "verdict" else {},
    )
    for name in _SHOWN
}
_FIELDS = {"run": "run_id", "reason": "failure_reason"}
_MANY = 2_000  # rows: with more a table is plain lines, and neither measured nor held as a whole
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
            return "".join(json_pieces(_results(records), records))
        case Format.CSV:
            return "".join(csv_pieces(in_order(records)))
        case Format.MARKDOWN:
            return "".join(markdown_pieces(_results(records), in_order(records)))
        case Format.TABLE:
            buffer = io.StringIO()
            print_table(records, Console(file=buffer, width=160, color_system=None))
            return buffer.getvalue()


def _results(records: Sequence[AttemptRecord]) -> Sequence[AgentResult]:
    return results_by_agent([Entrant(name="", attempts=in_order(records))])


def print_table(attempts: Iterable[AttemptRecord | Headline], console: Console) -> None:
    """Attempts as a table at a terminal; columns that would tell nothing stay away."""
    ordered = in_order(attempts)
    shown = [name for name in _SHOWN if name in _ALWAYS or _tells(name, ordered)]
    if len(ordered) > _MANY:
        console.file.writelines(_plain(ordered, shown))
        return
    cells = [row._asdict() for row in rows(ordered)]
    table = [[each[name] for name in shown] for each in cells]
    print_rows([_COLUMNS[name] for name in shown], table, console)


def _plain(attempts: Sequence[Headline], shown: Sequence[str]) -> Iterator[str]:
    """A table that nobody reads as a whole: lines alone, each written as it is made."""
    made = cells_of()
    cells = [made[HEADER.index(name)] for name in shown]
    widths = [
        max(len(name), *map(len, map(cell, attempts)))
        for name, cell in zip(shown[:-1], cells, strict=False)
    ]
    sides = (">" if name in _RIGHT else "<" for name in shown)
    # The last column ends where it likes.
    line = "  ".join(
        f"{{:{side}{width}}}" for side, width in zip_longest(sides, widths, fillvalue="")
    )
    yield f"{line.format(*shown)}\n"
    for each in attempts:
        yield f"{line.format(*[cell(each) for cell in cells])}\n"


def _tells(name: str, attempts: Sequence[Headline]) -> bool:
    """Whether a column is worth its room: not where it is empty, or says 1 in every row.

    Whose run it was is told where there are several.
    """
    cells = set(map(attrgetter(_FIELDS.get(name, name)), attempts))
    return len(cells) > 1 if name in _OF_THE_RUN else bool(cells - {"", None, 1})


def json_pieces(
    results: Sequence[AgentResult],
    records: Iterable[AttemptRecord],
    board: Leaderboard | None = None,
) -> Iterator[str]:
    """One JSON document (docs/schema/report.json), piece by piece, with each record on a line."""
    head = ReportDocument(
        results=tuple(map(ResultDocument.of, results)),
        leaderboard=None if board is None else LeaderboardDocument.of(board),
        attempts=(),
    )
    yield head.model_dump_json(indent=1).removesuffix("]\n}")
    comma = "\n"
    for record in records:
        yield f"{comma}{json.dumps(record.model_dump(mode='json'))}"
        comma = ",\n"
    yield "\n]}\n"


def csv_pieces(attempts: Iterable[Headline]) -> Iterator[str]:
    """CSV, line by line."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([HEADER], rows(attempts)):
        writer.writerow(row if row is HEADER else [_no_formula(cell) for cell in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _no_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
