"""A leaderboard for people: at a terminal and as Markdown."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentbench.report.figures import amount, cost_per_resolved, counted, percent
from agentbench.report.harmless import harmless
from agentbench.report.leaderboard import LETTERS, Leaderboard, Standing
from agentbench.report.markdown import code, escaped, head, row
from agentbench.report.summary import Rate

_WIDE = 80  # characters: there the names of runs alone are folded


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
        title = getattr(_TITLES, name).replace(" ", "\n", 1)
        is_whole = name != "run" and console.width >= _WIDE
        table.add_column(title, overflow="fold", no_wrap=is_whole)
    for line in _lines(board, _narrow):
        cells = line._replace(run=harmless(line.run))
        table.add_row(*(Text(getattr(cells, name)) for name in shown))
    console.print(table)
    told = ("below a rate: its 95 % interval", *notes(board))
    console.print("\n".join(told), highlight=False, markup=False, soft_wrap=True)
    console.print()


def leaderboard_pieces(board: Leaderboard) -> Iterator[str]:
    """A leaderboard as Markdown."""
    shown = _shown(board)
    yield head([getattr(_TITLES, name) for name in shown])
    for line in _lines(board, str):
        cells = ((code if name == "run" else escaped)(getattr(line, name)) for name in shown)
        yield row(cells)
    yield "\n"
    for note in notes(board):
        yield f"{escaped(note)}\n\n"


def notes(board: Leaderboard) -> Iterator[str]:
    """What a reader has to know of the columns."""
    if any(standing.group for standing in board.standings):
        yield f"group: {LETTERS}"
    for place, standing in enumerate(board.standings, start=1):
        if standing.summary.reasons:
            reasons, faults = counted(standing.summary.reasons), counted(standing.summary.faults)
            yield f"failures of {place}: {reasons}; by fault: {faults}"
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


def _narrow(rate: Rate) -> str:
    """A rate in two lines, so that many columns fit beside each other."""
    low, high = (f"{100 * bound:.1f}" for bound in rate.interval)
    return f"{rate.resolved}/{rate.total} {percent(rate.share)}\n{low}\u2013{high}"


def _lines(board: Leaderboard, told: Callable[[Rate], str]) -> Iterator[_Columns]:
    for place, standing in enumerate(board.standings, start=1):
        yield _line(place, standing, told)


def _line(place: int, standing: Standing, told: Callable[[Rate], str]) -> _Columns:
    summary = standing.summary
    return _Columns(
        str(place),
        standing.label,
        standing.group,
        told(summary.overall),
        told(summary.judged),
        told(standing.common),
        cost_per_resolved(summary),
        amount(summary.tokens_per_resolved),
        amount(summary.seconds_per_resolved),
    )
