"""A leaderboard for people: at a terminal and as Markdown."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbench.report.figures import amount, cost_per_resolved
from agentbench.report.harmless import harmless
from agentbench.report.leaderboard import Leaderboard, Standing
from agentbench.report.markdown import code, escaped, head, row


class _Columns(NamedTuple):
    place: str
    run: str
    group: str
    resolved: str
    judged: str
    common: str
    cost: str
    tokens: str
    seconds: str


_TITLES = _Columns(
    "",
    "run",
    "group",
    "resolved",
    "without lost",
    "on common tasks",
    "cost each",
    "tokens each",
    "seconds each",
)


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """A leaderboard at a terminal."""
    shown = _shown(board)
    table = Table(box=SIMPLE, pad_edge=False)
    for name in shown:
        table.add_column(getattr(_TITLES, name), overflow="fold")
    for line in _lines(board):
        table.add_row(*(Text(harmless(getattr(line, name))) for name in shown))
    console.print(table)
    console.print("\n".join(notes(board)), highlight=False, markup=False, soft_wrap=True)
    console.print()


def leaderboard_pieces(board: Leaderboard) -> Iterator[str]:
    """A leaderboard as Markdown."""
    shown = _shown(board)
    yield head([getattr(_TITLES, name) for name in shown])
    for line in _lines(board):
        cells = ((code if name == "run" else escaped)(getattr(line, name)) for name in shown)
        yield row(cells)
    yield "\n"
    for note in notes(board):
        yield f"{escaped(note)}\n\n"


def notes(board: Leaderboard) -> Iterator[str]:
    """What a reader has to know of the columns."""
    if any(standing.group for standing in board.standings):
        yield (
            "group: runs that share a letter could be alike but for luck "
            "(paired tests on shared tasks, 5 % after Holm's correction)"
        )
    yield "each: per resolved attempt; without lost: to the task or the infrastructure"
    if board.common != board.tasks:
        told = "ordered by those" if board.common else "ordered each by its own tasks"
        yield f"common to all runs are {board.common} of {board.tasks} tasks; {told}"


def _shown(board: Leaderboard) -> list[str]:
    left_out = set()
    if not any(standing.group for standing in board.standings):
        left_out.add("group")
    if board.common in {0, board.tasks}:
        left_out.add("common")
    return [name for name in _Columns._fields if name not in left_out]


def _lines(board: Leaderboard) -> Iterator[_Columns]:
    for place, standing in enumerate(board.standings, start=1):
        yield _line(place, standing)


def _line(place: int, standing: Standing) -> _Columns:
    summary = standing.summary
    return _Columns(
        str(place),
        standing.label,
        standing.group,
        str(summary.overall),
        str(summary.judged),
        str(standing.common),
        cost_per_resolved(summary),
        amount(summary.tokens_per_resolved),
        amount(summary.seconds_per_resolved),
    )
