"""Matches lines of an output against patterns, by the rules of pytest's LineMatcher."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from textwrap import dedent

from agentbench.integrity.sealing.agreement import searched
from agentbench.integrity.sealing.checks import LineOrder
from agentbench.integrity.sealing.equality import Agreement

_WILDCARDS = re.compile(r"\[[^]]*\]|\\\w|\W")
# Common texts of pytest's summaries, which can be guessed.
_FEW = re.compile(r"(?:[01] )?(?:pass|fail|skip|error)\w*(?: in)?", re.IGNORECASE)
_TELLING = 4  # characters; shorter texts are in most outputs


def patterns_of(value: object) -> list[str] | None:
    """The patterns of an assertion: texts, or the lines of a text; None if it has neither."""
    if isinstance(value, str):
        return dedent(value).strip("\n").splitlines()
    if not isinstance(value, list | tuple):
        return None
    found = [each for each in value if isinstance(each, str)]
    return found if len(found) == len(value) else None


def is_telling(pattern: str) -> bool:
    """Whether code that does not know a pattern is unlikely to print a line that matches it."""
    words = " ".join(_WILDCARDS.sub(" ", pattern).split())
    return len(words) >= _TELLING and not _FEW.fullmatch(words)


def match(
    lines: Sequence[str], patterns: Sequence[str], order: LineOrder, *, is_regex: bool
) -> Agreement:
    """Whether each pattern matches a line, or with the order NOWHERE, no pattern matches one."""
    at, is_first = 0, True
    for pattern in patterns:
        fits = _fits(lines, pattern, is_regex=is_regex)
        if fits is None:
            return Agreement.UNKNOWN
        if order is not LineOrder.NOWHERE:
            fits = [one or line == pattern for one, line in zip(fits, lines, strict=True)]
        if order in (LineOrder.NOWHERE, LineOrder.ANY):
            if any(fits) is (order is LineOrder.NOWHERE):
                return Agreement.NO
            continue
        found = next((place for place in range(at, len(lines)) if fits[place]), None)
        if found is None or (order is LineOrder.CONSECUTIVE and not is_first and found > at):
            return Agreement.NO
        at, is_first = found + 1, False
    return Agreement.YES


def _fits(lines: Sequence[str], pattern: str, *, is_regex: bool) -> list[bool] | None:
    if is_regex:
        return searched(rf"\A(?:{pattern})", lines)
    return [fnmatchcase(line, pattern) for line in lines]
