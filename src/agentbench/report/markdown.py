"""Markdown for a pull request or a job's summary, in which agents' texts are never markup.

Texts from agents and models are in code spans. Backslashes are not enough on GitHub, which finds
mentions, issue references and addresses in the rendered text, except in code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agentbench.core.display_text import printable
from agentbench.errors import UsageError
from agentbench.report.attempt_rows import HEADER, AttemptRow, rows
from agentbench.report.formatting import judged_title, summary_lines
from agentbench.report.leaderboard import AgentResult
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.summaries import AttemptSummary

_BACKTICKS = re.compile("`+")
_UNTRUSTED_COLUMNS = frozenset({"run", "task", "agent", "model", "detail"})
_UNCACHED_COLUMNS = frozenset({"task", "detail"})  # their texts rarely repeat
_MAX_DETAIL = 500  # characters of a detail
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>|#&~!"})


def code(text: str) -> str:
    """A text as one code span, safe inside a table's cell.

    A backslash before a pipe is separated from it by a space, since renderers interpret the two
    differently.
    """
    shown = printable(text, limit=_MAX_DETAIL).strip()
    if not shown:
        return ""
    fence = "`" * (max(map(len, _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith(("`", "\\")) else ""
    cell = shown.replace("\\|", "\\ |").replace("|", "\\|")
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
    yield head(["", "all attempts", judged_title(summary)])
    for line in summary_lines(summary):
        yield row(escaped(cell) for cell in line)
    yield "\n"


def attempts_markdown(attempts: Iterable[AttemptSummary]) -> Iterator[str]:
    """A table of attempts, line by line."""
    yield head(HEADER)
    makers = {name: code if name in _UNTRUSTED_COLUMNS else escaped for name in AttemptRow._fields}
    shown = tuple(
        maker if name in _UNCACHED_COLUMNS else lru_cache(maxsize=1_000)(maker)
        for name, maker in makers.items()
    )
    for cells in rows(attempts):
        yield row(maker(text) for maker, text in zip(shown, cells, strict=True))


def report_markdown(
    results: Sequence[AgentResult], attempts: Sequence[AttemptSummary]
) -> Iterator[str]:
    """Attempts as Markdown: the rate and the summary of each agent, and a row for each attempt."""
    for result in results:
        whose = f"{code(result.label)}: " if len(results) > 1 else ""
        yield f"{whose}resolved {result.summary.overall}\n\n"
        yield from summary_markdown(result.summary)
    yield from attempts_markdown(attempts)


GITHUB_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
GITHUB_SUMMARY_BYTES = 1024 * 1024
"""GitHub's limit for a step's summary in bytes; it does not show a larger one."""

_CUT_NOTE = "\n\nCut here: GitHub shows 1 MiB of a step's summary and no more.\n"


def append_summary(chunks: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Append as much Markdown to the job's summary as fits; returns whether all of it did.

    Only whole lines are written.

    Raises:
        UsageError: this is not a job of GitHub Actions, or the file cannot be written.
    """
    named = environ.get(GITHUB_SUMMARY_VARIABLE)
    if not named:
        raise UsageError(
            f"--github-summary: {GITHUB_SUMMARY_VARIABLE} is not set; GitHub Actions sets it. "
            "Elsewhere use --format markdown"
        )
    path, note = Path(named), _CUT_NOTE.encode()
    try:
        with path.open("ab") as target:
            room = GITHUB_SUMMARY_BYTES - target.tell() - len(note) - 1
            if room < 0:
                return False
            target.write(b"\n")  # a table must begin on a new line
            for chunk in chunks:
                content = chunk.encode(errors="replace")
                room -= len(content)
                target.write(content if room >= 0 else note)
                if room < 0:
                    return False
    except OSError as error:
        raise UsageError(f"--github-summary: {path}: cannot be written: {error}") from None
    return True
