"""A comparison for people: at a terminal and as Markdown."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console

from agentbench.report.comparison import Comparison, Flip
from agentbench.report.figures import NOTHING, points, summary_lines
from agentbench.report.harmless import harmless
from agentbench.report.markdown import code, escaped, head, row
from agentbench.report.significance import statement
from agentbench.report.text_table import Column, print_rows, print_text
from agentbench.tasks.problem import TaskId

_NAMED = 50  # tasks of one kind that are named at a terminal or in a pull request


class Names(NamedTuple):
    """What two runs are called."""

    first: str
    second: str


class _Line(NamedTuple):
    what: str
    first: str
    second: str
    difference: str


def print_comparison(comparison: Comparison, names: Names, console: Console) -> None:
    """A comparison at a terminal."""
    titles = ("", *map(harmless, names), "difference in points")
    print_rows([Column(name=name) for name in titles], list(_lines(comparison)), console)
    console.print()
    for sentence in sentences(comparison):
        print_text(sentence, console)
    for title, tasks in _left_out(comparison):
        print_text(f"{title} {harmless(tasks)}", console)
    for title, flips in _flipped(comparison):
        console.print()
        print_text(title, console)
        for task, shares in _flip_lines(flips):
            print_text(f"  {harmless(task)} {shares}".rstrip(), console, indent=4)


def comparison_pieces(comparison: Comparison, names: Names) -> Iterator[str]:
    """A comparison as Markdown."""
    yield head(["", *map(code, names), "difference in points"])
    for line in _lines(comparison):
        yield row(map(escaped, line))
    yield "\n"
    for sentence in sentences(comparison):
        yield f"{escaped(sentence)}\n\n"
    for title, tasks in _left_out(comparison):
        yield f"{escaped(title)} {code(tasks)}\n\n"
    for title, flips in _flipped(comparison):
        yield f"{escaped(title)}\n\n"
        for task, shares in _flip_lines(flips):
            yield f"- {code(task)} {shares}\n"
        yield "\n"


def sentences(comparison: Comparison) -> Iterator[str]:
    """What the numbers mean, of both denominators."""
    yield f"All attempts: {statement(comparison.overall)}"
    judged = comparison.judged
    if judged is None:
        yield "Judged attempts: no task has one in both runs."
    else:
        yield f"Judged attempts: {statement(judged)}"


def _lines(comparison: Comparison) -> Iterator[_Line]:
    first = {line.name: line for line in summary_lines(comparison.first)}
    second = {line.name: line for line in summary_lines(comparison.second)}
    judged = comparison.judged
    for name in sorted((first, second), key=len)[-1] | first | second:
        one, other = first.get(name), second.get(name)
        told = points(comparison.difference) if name == "resolved" else ""
        yield _Line(
            name, one.overall if one else NOTHING, other.overall if other else NOTHING, told
        )
        if (one and one.judged) or (other and other.judged):
            told = points(judged.difference) if judged and name == "resolved" else ""
            yield _Line(
                f"{name}, judged",
                one.judged if one else NOTHING,
                other.judged if other else NOTHING,
                told,
            )


def _flipped(comparison: Comparison) -> Iterator[tuple[str, Sequence[Flip]]]:
    kinds = (("gained", comparison.gained), ("lost", comparison.lost))
    for what, flips in kinds:
        if flips:
            yield f"{what} {len(flips)} of {comparison.tasks} shared tasks", flips
    if not (comparison.gained or comparison.lost):
        yield f"no flips in {comparison.tasks} shared tasks", ()


def _left_out(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for name, only in (("first", comparison.only_first), ("second", comparison.only_second)):
        if only:
            yield f"left out, in the {name} run alone:", _named(only)


def _flip_lines(flips: Sequence[Flip]) -> Iterator[tuple[str, str]]:
    for flip in flips[:_NAMED]:
        first, second = (f"{rate.resolved}/{rate.total}" for rate in (flip.first, flip.second))
        yield flip.task_id, f"{first} \u2192 {second}"
    if len(flips) > _NAMED:
        yield f"\u2026 and {len(flips) - _NAMED} more: --format json names all", ""


def _named(tasks: Sequence[TaskId]) -> str:
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return ", ".join(tasks[:_NAMED]) + more
