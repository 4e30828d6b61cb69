"""Finds out how a text is delimited by looking at the start of it."""

import re
from collections import Counter

from tabread.dialect import DELIMITERS, QUOTES, Dialect

_LINE_END = re.compile(r"\r\n|\r|\n")
_ENOUGH = 0.5


class SniffError(ValueError):
    """No delimiter fits the text."""


def sniff(sample: str) -> Dialect:
    """The dialect that fits the sample best.

    Raises:
        SniffError: no delimiter is used in the same way in at least half of the records.
    """
    quote = _find_quote(sample)
    rows = _unquoted_rows(sample, quote)
    found = [d for d in DELIMITERS if any(d in row for row in rows)]
    if not found:
        return Dialect(quote=quote)
    best = max(found, key=lambda delimiter: _fitness(delimiter, rows))
    if _fitness(best, rows)[0] < _ENOUGH:
        raise SniffError("no delimiter is used consistently; give a dialect")
    return Dialect(best, quote)


def _find_quote(sample: str) -> str:
    """The quote that wraps the most fields, counted by its opening or closing ends."""
    edge = re.escape(DELIMITERS + "\r\n")

    def wrapped(quote: str) -> int:
        opening = re.findall(rf"(?:\A|[{edge}]){quote}", sample)
        closing = re.findall(rf"{quote}(?:\Z|[{edge}])", sample)
        return min(len(opening), len(closing))

    return max(QUOTES, key=wrapped)


def _unquoted_rows(sample: str, quote: str) -> list[str]:
    """What the delimiters are counted in: the finished rows, less all that is quoted."""
    lines = _LINE_END.split(sample)
    if len(lines) > 1:
        lines.pop()  # empty, or cut off somewhere
    rows = [_strip_quoted(line, quote) for line in lines if line]
    return rows or [""]


def _strip_quoted(line: str, quote: str) -> str:
    """The line without its quoted parts.

    A quote opens only at the start of a field. The second half of a doubled quote opens the
    part again that the first half has closed, so that the two need no case of their own.
    """
    kept: list[str] = []
    quoted = False
    for char in line:
        if quoted:
            quoted = char != quote
        elif char == quote and (not kept or kept[-1] in DELIMITERS):
            quoted = True
        else:
            kept.append(char)
    return "".join(kept)


def _fitness(delimiter: str, rows: list[str]) -> tuple[float, int]:
    """How evenly a delimiter is spread: the share of rows with the usual count, and that count."""
    counts = Counter(row.count(delimiter) for row in rows)
    del counts[0]
    if not counts:
        return 0.0, 0
    usual, how_often = max(counts.items(), key=lambda item: (item[1], item[0]))
    return how_often / len(rows), usual
