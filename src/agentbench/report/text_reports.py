"""Reports in text and in Markdown.

Texts from agents and models are in code spans. Backslashes are not enough on GitHub, which links
mentions, issue references and addresses in the rendered text, except in code.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rich.console import Console

from agentbench.core.display_text import counted, list_with_more, printable
from agentbench.errors import UsageError
from agentbench.report import formatting
from agentbench.report.attempt_columns import COLUMNS, rows
from agentbench.report.cause_text import cause_facts
from agentbench.report.comparison import Comparison, Flip
from agentbench.report.failure_cause import FailureCause
from agentbench.report.leaderboard import LETTERS_NOTE, AgentResult, Leaderboard, LeaderboardEntry
from agentbench.report.summary import TAMPERED, Rate, ResultSummary
from agentbench.report.text_table import TableColumn, print_rows, print_text
from agentbench.runs.store.summaries import AttemptSummary

_BACKTICKS = re.compile("`+")
_MAX_DETAIL = 500  # characters of a detail
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>|#&~!"})
GITHUB_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
# GitHub's limit for a step's summary; it does not show a larger one.
GITHUB_SUMMARY_BYTES = 1024 * 1024
_CUT_NOTE = "\n\nCut here: GitHub shows at most 1 MiB of a step's summary.\n"
_MAX_CAUSES = 50  # failed attempts of one run
_MAX_NAMED = 50  # tasks of one kind in a list


def code(text: str) -> str:
    """A text as one code span, safe inside a table's cell."""
    visible_text = printable(text, limit=_MAX_DETAIL).strip()
    if not visible_text:
        return ""
    fence = "`" * (max(map(len, _BACKTICKS.findall(visible_text)), default=0) + 1)
    pad = " " if visible_text.startswith("`") or visible_text.endswith(("`", "\\")) else ""
    # Renderers interpret a backslash before a pipe differently, so a space separates the two.
    cell = visible_text.replace("\\|", "\\ |").replace("|", "\\|")
    return f"{fence}{pad}{cell}{pad}{fence}"


def escaped(text: str) -> str:
    """One of our own texts, escaped."""
    return printable(text).translate(_SPECIAL)


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |\n"


def head(names: Sequence[str]) -> str:
    """The first two lines of a table."""
    return row(names) + row(["---"] * len(names))


def summary_markdown(summary: ResultSummary) -> Iterator[str]:
    """A summary as a table of both denominators."""
    yield head(["", "all attempts", formatting.judged_title(summary)])
    for line in formatting.summary_lines(summary):
        yield row(escaped(cell) for cell in line)
    yield "\n"


def attempts_markdown(attempts: Iterable[AttemptSummary]) -> Iterator[str]:
    """A table of attempts, line by line."""
    yield head([column.name for column in COLUMNS])
    for cells in rows(attempts):
        yield row(
            (code if column.is_foreign else escaped)(cells[column.name]) for column in COLUMNS
        )


def report_markdown(
    results: Sequence[AgentResult], attempts: Sequence[AttemptSummary]
) -> Iterator[str]:
    """Attempts as Markdown: the rate and the summary of each agent, and a row for each attempt."""
    for result in results:
        whose = f"{code(result.label)}: " if len(results) > 1 else ""
        yield f"{whose}resolved {result.summary.overall}\n\n"
        yield from summary_markdown(result.summary)
    yield from attempts_markdown(attempts)


def causes_markdown(
    failed: Sequence[AttemptSummary],
    cause_of: Callable[[AttemptSummary], FailureCause | None],
) -> Iterator[str]:
    """Why attempts failed: a list with the test, and its expected and actual value, of each."""
    if failed:
        yield "\nWhy attempts failed\n\n"
    for attempt in failed[:_MAX_CAUSES]:
        cause = cause_of(attempt)
        if cause is None:
            continue
        number = f" {attempt.attempt}" if attempt.attempt > 1 else ""
        yield f"- {code(attempt.task_id)}{number}: {code(cause.summary)}\n"
        for fact in cause_facts(cause):
            yield f"  - {fact.label}: {code(' '.join(fact.lines))}\n"
    if len(failed) > _MAX_CAUSES:
        yield f"- and {len(failed) - _MAX_CAUSES} more\n"


def check_summary(environ: Mapping[str, str]) -> None:
    """Refuse `--github-summary` where there is no job's summary, before anything is printed.

    Raises:
        UsageError: this is not a job of GitHub Actions, or the file cannot be written.
    """
    with _open_summary(environ):
        pass


@contextmanager
def _open_summary(environ: Mapping[str, str]) -> Iterator[BinaryIO]:
    named = environ.get(GITHUB_SUMMARY_VARIABLE)
    if not named:
        raise UsageError(
            f"--github-summary: {GITHUB_SUMMARY_VARIABLE} is not set; GitHub Actions sets it. "
            "Elsewhere use --format markdown"
        )
    try:
        with Path(named).open("ab") as target:
            yield target
    except OSError as error:
        raise UsageError(
            f"--github-summary: {named}: cannot be written: {error.strerror}"
        ) from None


def append_summary(chunks: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Append as much Markdown to the job's summary as fits; returns whether all of it did.

    Only whole lines are written.

    Raises:
        UsageError: this is not a job of GitHub Actions, or the file cannot be written.
    """
    note = _CUT_NOTE.encode()
    with _open_summary(environ) as target:
        remaining_bytes = GITHUB_SUMMARY_BYTES - target.tell() - len(note) - 1
        if remaining_bytes < 0:
            return False
        # A table must begin on a new line, and another step may have written before.
        target.write(b"\n")
        for chunk in chunks:
            content = chunk.encode(errors="replace")
            remaining_bytes -= len(content)
            target.write(content if remaining_bytes >= 0 else note)
            if remaining_bytes < 0:
                return False
    return True


def print_summary(summary: ResultSummary, console: Console, *, title: str = "") -> None:
    """A summary with both denominators, and the cost of a resolved attempt.

    `title` names the agent if there are several.
    """
    console.print()
    if title:
        print_text(printable(title), console)
    titles = ("", "all attempts", formatting.judged_title(summary))
    columns = [TableColumn(name=title) for title in titles]
    print_rows(columns, list(formatting.summary_lines(summary)), console)


class _LeaderboardLine(NamedTuple):
    entry: LeaderboardEntry
    rate_text: Callable[[Rate], str]

    @property
    def summary(self) -> ResultSummary:
        return self.entry.summary


@dataclass(frozen=True, slots=True)
class _LeaderboardColumn:
    title: str
    cell: Callable[[_LeaderboardLine], str]
    below: int = 0  # the order in which columns are moved in narrow terminals


_RUN = _LeaderboardColumn("run", lambda line: line.entry.label)
_GROUP = _LeaderboardColumn("group", lambda line: line.entry.group)
_COMMON = _LeaderboardColumn(
    "on common tasks", lambda line: line.rate_text(line.entry.common), below=2
)
_LEADERBOARD_COLUMNS = (
    _LeaderboardColumn("place", lambda line: str(line.entry.rank)),
    _RUN,
    _GROUP,
    _LeaderboardColumn("resolved", lambda line: line.rate_text(line.summary.overall)),
    _LeaderboardColumn("excluding errors", lambda line: line.rate_text(line.summary.judged), 3),
    _COMMON,
    _LeaderboardColumn("cost each", lambda line: formatting.cost_per_resolved(line.summary), 1),
    _LeaderboardColumn(
        "tokens each", lambda line: formatting.amount(line.summary.per_resolved.tokens), 1
    ),
    _LeaderboardColumn(
        "seconds each", lambda line: formatting.amount(line.summary.per_resolved.seconds), 1
    ),
)


def print_leaderboard(leaderboard: Leaderboard, console: Console) -> None:
    """A leaderboard at a terminal."""

    def rate_with_interval(rate: Rate) -> str:
        low, high = (f"{100 * bound:.1f}" for bound in rate.interval)
        share = formatting.percent(rate.share)
        return f"{rate.resolved}/{rate.total} {share} ({low}\u2013{high})"

    visible_columns = _visible_columns(leaderboard)
    columns = [TableColumn(name=column.title, below=column.below) for column in visible_columns]
    rows = [
        [printable(column.cell(line)) for column in visible_columns]
        for line in _leaderboard_lines(leaderboard, rate_with_interval)
    ]
    print_rows(columns, rows, console)
    console.print()
    for note in ("in parentheses: the 95 % interval of a rate", *leaderboard_notes(leaderboard)):
        print_text(note, console)
    console.print()


def leaderboard_markdown(leaderboard: Leaderboard) -> Iterator[str]:
    """A leaderboard as Markdown."""
    visible_columns = _visible_columns(leaderboard)
    yield head([column.title for column in visible_columns])
    for line in _leaderboard_lines(leaderboard, str):
        yield row(
            (code if column is _RUN else escaped)(column.cell(line)) for column in visible_columns
        )
    yield "\n"
    for note in leaderboard_notes(leaderboard):
        yield f"{escaped(note)}\n\n"


def leaderboard_notes(leaderboard: Leaderboard) -> Iterator[str]:
    """The notes about the columns."""
    if any(entry.group for entry in leaderboard.entries):
        yield f"group: {LETTERS_NOTE}"
    for entry in leaderboard.entries:
        if entry.summary.reasons:
            reasons = ", ".join(entry.summary.reason_counts)
            faults = formatting.counts_text(entry.summary.faults)
            yield f"failures of {printable(entry.label)}: {reasons}; by fault: {faults}"
        if entry.summary.tampered:
            number = counted(entry.summary.tampered, "attempt")
            yield f"{TAMPERED} by {printable(entry.label)}: {number}"
    yield "each: per resolved attempt; excluding errors: of the task or the infrastructure"
    if leaderboard.common != leaderboard.tasks:
        tasks = counted(leaderboard.tasks, "task")
        order = "ordered by those" if leaderboard.common else "each ordered by its own tasks"
        yield f"common to all runs: {leaderboard.common} of {tasks}; {order}"


def _visible_columns(leaderboard: Leaderboard) -> list[_LeaderboardColumn]:
    # Without letters, which need scipy, or with the same tasks in all runs, a column says nothing.
    omitted = [] if any(entry.group for entry in leaderboard.entries) else [_GROUP]
    if leaderboard.common in {0, leaderboard.tasks}:
        omitted.append(_COMMON)
    return [column for column in _LEADERBOARD_COLUMNS if column not in omitted]


def _leaderboard_lines(
    leaderboard: Leaderboard, rate_text: Callable[[Rate], str]
) -> Iterator[_LeaderboardLine]:
    for entry in leaderboard.entries:
        yield _LeaderboardLine(entry, rate_text)


class RunNames(NamedTuple):
    """The names of two runs."""

    first: str
    second: str


def print_comparison(comparison: Comparison, names: RunNames, console: Console) -> None:
    """A comparison at a terminal."""
    titles = ("", *map(printable, names), "difference in points")
    columns = [TableColumn(name=title) for title in titles]
    print_rows(columns, list(_comparison_rows(comparison)), console)
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
    judged_text = (
        "no task has one in both runs." if judged is None else formatting.statement(judged)
    )
    yield f"Judged attempts: {judged_text}"


def _comparison_rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """The name of a value, the values of both runs, and the difference in points."""
    first = {line.name: line for line in formatting.summary_lines(comparison.first)}
    second = {line.name: line for line in formatting.summary_lines(comparison.second)}
    judged = comparison.judged
    for name in sorted((first, second), key=len)[-1] | first | second:
        # A run that tampered with nothing has no such line.
        missing = "0" if name == TAMPERED else formatting.NO_VALUE
        is_rate = name == "resolved"
        lines = first.get(name), second.get(name)
        points = formatting.points(comparison.overall.difference) if is_rate else ""
        yield name, *(line.overall if line else missing for line in lines), points
        if any(line and line.judged for line in lines):
            points = formatting.points(judged.difference) if judged and is_rate else ""
            cells = (line.judged if line else missing for line in lines)
            yield f"{name}, judged", *cells, points


def _flipped(comparison: Comparison) -> Iterator[tuple[str, Sequence[Flip]]]:
    for what, flips in (("gained", comparison.gained), ("lost", comparison.lost)):
        if flips:
            yield f"{what} {len(flips)} of {counted(comparison.tasks, 'shared task')}", flips
    if not (comparison.gained or comparison.lost):
        yield f"no flips in {counted(comparison.tasks, 'shared task')}", ()


def _unshared_tasks(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for name, only in (("first", comparison.only_first), ("second", comparison.only_second)):
        if only:
            yield f"not compared, only in the {name} run:", list_with_more(only, _MAX_NAMED)


def _flip_lines(flips: Sequence[Flip]) -> Iterator[tuple[str, str]]:
    for flip in flips[:_MAX_NAMED]:
        first, second = (f"{rate.resolved}/{rate.total}" for rate in (flip.first, flip.second))
        yield flip.task_id, f"{first} \u2192 {second}"
    if len(flips) > _MAX_NAMED:
        yield f"\u2026 and {len(flips) - _MAX_NAMED} more: --format json names all", ""
