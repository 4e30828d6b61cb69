"""A leaderboard for people: at a terminal and as Markdown."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.console import Console

from agentbench.report.figures import amount, cost_per_resolved, counted, percent
from agentbench.report.harmless import harmless
from agentbench.report.leaderboard import LETTERS, Leaderboard, Standing
from agentbench.report.markdown import code, escaped, head, row
from agentbench.report.summary import Rate
from agentbench.report.text_table import Column, print_rows, print_text


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
    "place",
    "run",
    "group",
    "resolved",
    "without lost",
    "on common tasks",
    "cost each",
    "tokens each",
    "seconds each",
)


_BELOW = {"cost": 1, "tokens": 1, "seconds": 1, "common": 2, "judged": 3}
"""Which columns give way first where there is little room."""


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """A leaderboard at a terminal."""
    shown = _shown(board)
    columns = [Column(name=getattr(_TITLES, name), below=_BELOW.get(name, 0)) for name in shown]
    lines = (line._replace(run=harmless(line.run)) for line in _lines(board, _short))
    rows = [[getattr(line, name) for name in shown] for line in lines]
    print_rows(columns, rows, console)
    console.print()
    for note in ("in parentheses: the 95 % interval of a rate", *notes(board)):
        print_text(note, console)
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


def _short(rate: Rate) -> str:
    """A rate with its interval."""
    low, high = (f"{100 * bound:.1f}" for bound in rate.interval)
    return f"{rate.resolved}/{rate.total} {percent(rate.share)} ({low}\u2013{high})"


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
