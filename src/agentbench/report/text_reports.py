"""Summaries, leaderboards and comparisons as text: at a terminal and as Markdown."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console

from agentbench.core.display_text import list_with_more, printable
from agentbench.report import formatting
from agentbench.report.comparison import Comparison, Flip
from agentbench.report.leaderboard import LETTERS_NOTE, Leaderboard, LeaderboardEntry
from agentbench.report.markdown import code, escaped, head, row
from agentbench.report.summary import Rate, ResultSummary
from agentbench.report.text_table import TableColumn, print_rows, print_text


def print_summary(summary: ResultSummary, console: Console, *, title: str = "") -> None:
    """A summary with both denominators, and the cost of a resolved attempt.

    `title` names the agent if there are several.
    """
    console.print()
    if title:
        print_text(printable(title), console)
    columns = [
        TableColumn(name=name) for name in ("", "all attempts", formatting.judged_title(summary))
    ]
    print_rows(columns, list(formatting.summary_lines(summary)), console)


class _LeaderboardRow(NamedTuple):
    place: str
    run: str
    group: str
    resolved: str
    judged: str
    common: str
    cost: str
    tokens: str
    seconds: str


_TITLES = _LeaderboardRow(
    "place",
    "run",
    "group",
    "resolved",
    "excluding errors",
    "on common tasks",
    "cost each",
    "tokens each",
    "seconds each",
)


_BELOW = {"cost": 1, "tokens": 1, "seconds": 1, "common": 2, "judged": 3}
"""The order in which columns are moved in narrow terminals."""


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """A leaderboard at a terminal."""
    shown = _shown_columns(board)
    columns = [
        TableColumn(name=getattr(_TITLES, name), below=_BELOW.get(name, 0)) for name in shown
    ]
    lines = (
        line._replace(run=printable(line.run))
        for line in _leaderboard_rows(board, _rate_with_interval)
    )
    rows = [[getattr(line, name) for name in shown] for line in lines]
    print_rows(columns, rows, console)
    console.print()
    for note in ("in parentheses: the 95 % interval of a rate", *leaderboard_notes(board)):
        print_text(note, console)
    console.print()


def leaderboard_markdown(board: Leaderboard) -> Iterator[str]:
    """A leaderboard as Markdown."""
    shown = _shown_columns(board)
    yield head([getattr(_TITLES, name) for name in shown])
    for line in _leaderboard_rows(board, str):
        cells = ((code if name == "run" else escaped)(getattr(line, name)) for name in shown)
        yield row(cells)
    yield "\n"
    for note in leaderboard_notes(board):
        yield f"{escaped(note)}\n\n"


def leaderboard_notes(board: Leaderboard) -> Iterator[str]:
    """The notes about the columns."""
    if any(standing.group for standing in board.standings):
        yield f"group: {LETTERS_NOTE}"
    for place, standing in enumerate(board.standings, start=1):
        if standing.summary.reasons:
            reasons, faults = (
                formatting.counts_text(standing.summary.reasons),
                formatting.counts_text(standing.summary.faults),
            )
            yield f"failures of {place}: {reasons}; by fault: {faults}"
    yield "each: per resolved attempt; excluding errors: of the task or the infrastructure"
    if board.common != board.tasks:
        told = "ordered by those" if board.common else "ordered each by its own tasks"
        yield f"common to all runs are {board.common} of {board.tasks} tasks; {told}"


def _shown_columns(board: Leaderboard) -> list[str]:
    left_out = set()
    if not any(standing.group for standing in board.standings):
        left_out.add("group")
    if board.common in {0, board.tasks}:
        left_out.add("common")
    return [name for name in _LeaderboardRow._fields if name not in left_out]


def _rate_with_interval(rate: Rate) -> str:
    """A rate with its interval."""
    low, high = (f"{100 * bound:.1f}" for bound in rate.interval)
    return f"{rate.resolved}/{rate.total} {formatting.percent(rate.share)} ({low}\u2013{high})"


def _leaderboard_rows(board: Leaderboard, told: Callable[[Rate], str]) -> Iterator[_LeaderboardRow]:
    for place, standing in enumerate(board.standings, start=1):
        yield _leaderboard_row(place, standing, told)


def _leaderboard_row(
    place: int, standing: LeaderboardEntry, told: Callable[[Rate], str]
) -> _LeaderboardRow:
    summary = standing.summary
    return _LeaderboardRow(
        str(place),
        standing.label,
        standing.group,
        told(summary.overall),
        told(summary.judged),
        told(standing.common),
        formatting.cost_per_resolved(summary),
        formatting.amount(summary.tokens_per_resolved),
        formatting.amount(summary.seconds_per_resolved),
    )


_MAX_NAMED = 50  # tasks of one kind in a list


class RunNames(NamedTuple):
    """The names of two runs."""

    first: str
    second: str


class _ComparisonRow(NamedTuple):
    what: str
    first: str
    second: str
    difference: str


def print_comparison(comparison: Comparison, names: RunNames, console: Console) -> None:
    """A comparison at a terminal."""
    titles = ("", *map(printable, names), "difference in points")
    print_rows(
        [TableColumn(name=name) for name in titles], list(_comparison_rows(comparison)), console
    )
    console.print()
    for sentence in sentences(comparison):
        print_text(sentence, console)
    for title, tasks in _unshared_tasks(comparison):
        print_text(f"{title} {printable(tasks)}", console)
    for title, flips in _flipped(comparison):
        console.print()
        print_text(title, console)
        for task, shares in _flip_lines(flips):
            print_text(f"  {printable(task)} {shares}".rstrip(), console, indent=4)


def comparison_markdown(comparison: Comparison, names: RunNames) -> Iterator[str]:
    """A comparison as Markdown."""
    yield head(["", *map(code, names), "difference in points"])
    for line in _comparison_rows(comparison):
        yield row(map(escaped, line))
    yield "\n"
    for sentence in sentences(comparison):
        yield f"{escaped(sentence)}\n\n"
    for title, tasks in _unshared_tasks(comparison):
        yield f"{escaped(title)} {code(tasks)}\n\n"
    for title, flips in _flipped(comparison):
        yield f"{escaped(title)}\n\n"
        for task, shares in _flip_lines(flips):
            yield f"- {code(task)} {shares}\n"
        yield "\n"


def sentences(comparison: Comparison) -> Iterator[str]:
    """The statements for both denominators."""
    yield f"All attempts: {formatting.statement(comparison.overall)}"
    judged = comparison.judged
    if judged is None:
        yield "Judged attempts: no task has one in both runs."
    else:
        yield f"Judged attempts: {formatting.statement(judged)}"


def _comparison_rows(comparison: Comparison) -> Iterator[_ComparisonRow]:
    first = {line.name: line for line in formatting.summary_lines(comparison.first)}
    second = {line.name: line for line in formatting.summary_lines(comparison.second)}
    judged = comparison.judged
    for name in sorted((first, second), key=len)[-1] | first | second:
        one, other = first.get(name), second.get(name)
        told = formatting.points(comparison.difference) if name == "resolved" else ""
        yield _ComparisonRow(
            name,
            one.overall if one else formatting.NO_VALUE,
            other.overall if other else formatting.NO_VALUE,
            told,
        )
        if (one and one.judged) or (other and other.judged):
            told = formatting.points(judged.difference) if judged and name == "resolved" else ""
            yield _ComparisonRow(
                f"{name}, judged",
                one.judged if one else formatting.NO_VALUE,
                other.judged if other else formatting.NO_VALUE,
                told,
            )


def _flipped(comparison: Comparison) -> Iterator[tuple[str, Sequence[Flip]]]:
    kinds = (("gained", comparison.gained), ("lost", comparison.lost))
    for what, flips in kinds:
        if flips:
            yield f"{what} {len(flips)} of {comparison.tasks} shared tasks", flips
    if not (comparison.gained or comparison.lost):
        yield f"no flips in {comparison.tasks} shared tasks", ()


def _unshared_tasks(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for name, only in (("first", comparison.only_first), ("second", comparison.only_second)):
        if only:
            yield f"left out, in the {name} run alone:", list_with_more(only, _MAX_NAMED)


def _flip_lines(flips: Sequence[Flip]) -> Iterator[tuple[str, str]]:
    for flip in flips[:_MAX_NAMED]:
        first, second = (f"{rate.resolved}/{rate.total}" for rate in (flip.first, flip.second))
        yield flip.task_id, f"{first} \u2192 {second}"
    if len(flips) > _MAX_NAMED:
        yield f"\u2026 and {len(flips) - _MAX_NAMED} more: --format json names all", ""
