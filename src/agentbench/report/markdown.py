"""Markdown for a pull request or a job's summary, in which no text of an agent is more than text.

Texts that an agent or a model could have written stand in code spans. Escaping each character with
a backslash is not enough on GitHub: mentions of people, references to issues and bare addresses are
found in what a page says once it is rendered, and only code is left alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from agentbench.report.agent_results import AgentResult
from agentbench.report.figures import judged_title, summary_lines
from agentbench.report.harmless import harmless
from agentbench.report.rows import HEADER, Row, rows
from agentbench.report.summary import Summary
from agentbench.runs.headline import Headline

_BACKTICKS = re.compile("`+")
_STRANGERS = frozenset({"run", "task", "agent", "model", "detail"})  # columns that others write
_MANY = frozenset({"task", "detail"})  # columns whose texts seldom return
_LONGEST = 500  # characters of a detail
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>|#&~!"})


def code(text: str) -> str:
    """A text as a code span that holds all of it, and keeps its cell in a table.

    A backslash right before a pipe is parted from it by a space: renderers differ in what the two
    mean in a table.
    """
    shown = harmless(text, limit=_LONGEST).strip()
    if not shown:
        return ""
    fence = "`" * (max(map(len, _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith(("`", "\\")) else ""
    cell = shown.replace("\\|", "\\ |").replace("|", "\\|")
    return f"{fence}{pad}{cell}{pad}{fence}"


def escaped(text: str) -> str:
    """A text of our own, of which nothing is markup."""
    return harmless(text).translate(_SPECIAL)


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |\n"


def head(names: Sequence[str]) -> str:
    """The first two lines of a table."""
    return row(names) + row(["---"] * len(names))


def summary_pieces(summary: Summary) -> Iterator[str]:
    """A summary as a table of both denominators."""
    yield head(["", "all attempts", judged_title(summary)])
    for line in summary_lines(summary):
        yield row(escaped(cell) for cell in line)
    yield "\n"


def attempt_pieces(attempts: Iterable[Headline]) -> Iterator[str]:
    """A table of attempts, line by line; none is kept."""
    yield head(HEADER)
    shown = _cells()
    for told in rows(attempts):
        yield row([cell(text) for cell, text in zip(shown, told, strict=True)])


def markdown_pieces(results: Sequence[AgentResult], attempts: Sequence[Headline]) -> Iterator[str]:
    """Attempts as Markdown: the rate and the summary of each agent, and a row for each attempt."""
    for result in results:
        whose = f"{code(result.label)}: " if len(results) > 1 else ""
        yield f"{whose}resolved {result.summary.overall}\n\n"
        yield from summary_pieces(result.summary)
    yield from attempt_pieces(attempts)


def _cells() -> tuple[Callable[[str], str], ...]:
    makers = {name: code if name in _STRANGERS else escaped for name in Row._fields}
    return tuple(
        maker if name in _MANY else lru_cache(maxsize=1_000)(maker)
        for name, maker in makers.items()
    )
