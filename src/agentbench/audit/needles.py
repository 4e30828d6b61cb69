"""Lines that tell where a text came from, and the search for them in other texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_LONG_LINE = 60  # characters, from which on a line tells by itself
_WINDOW = 3  # lines of any length that tell together
_LEAST_WINDOW = 40  # characters of such lines
_LEAST_TELLING = 2  # lines of them that are not what any program has
_MARKS = re.compile(r"^[\s+>|]+")  # of diffs, quotations and tables
_ORDINARY = re.compile(
    r"""(import\s|from\s+\S+\s+import\b|\#|@|\W*$|(\"\"\"|''')\W*$|(else|try|finally)\s*:$
    |pass$|continue$|break$|return(\s+(None|True|False|self))?$|yield$|raise$
    |def\s+__init__\(self\)|class\s+\w+:$)""",
    re.VERBOSE,
)

Needle = tuple[str, ...]
"""One long line, or three lines that follow upon each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needles:
    """What to search for."""

    known: frozenset[Needle]

    def __len__(self) -> int:
        return len(self.known)

    def without(self, common: Iterable[Needle]) -> "Needles":
        """The needles that are not among some others."""
        return Needles(known=self.known.difference(common))

    def found_in(self, text: str) -> dict[Needle, int]:
        """The needles in a text, each with the number of its first line there."""
        if not self.known:
            return {}
        found: dict[Needle, int] = {}
        for number, needle in _candidates(enumerate(text.splitlines(), start=1)):
            if needle in self.known:
                found.setdefault(needle, number)
        return found


def needles_of(blocks: Iterable[Sequence[str]]) -> Needles:
    """What tells of some pieces of text; each is made of lines that follow upon each other."""
    return Needles(
        known=frozenset(
            needle
            for block in blocks
            for _, needle in _candidates(enumerate(block))
            if _tells(needle)
        )
    )


def blocks_of(lines: Iterable[tuple[int, str]]) -> Iterator[list[str]]:
    """Numbered lines as pieces without a gap."""
    block: list[str] = []
    last = None
    for number, line in lines:
        if block and number != last:
            yield block
            block = []
        block.append(line)
        last = number + 1
    if block:
        yield block


def _candidates(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Needle]]:
    before: list[tuple[int, str]] = []
    for number, line in lines:
        plain = _MARKS.sub("", line).rstrip()
        if not plain:
            continue
        if len(plain) >= _LONG_LINE:
            yield number, (plain,)
        before = [*before[1 - _WINDOW :], (number, plain)]
        if len(before) == _WINDOW:
            yield before[0][0], tuple(text for _, text in before)


def _tells(needle: Needle) -> bool:
    telling = sum(not _ORDINARY.match(line) for line in needle)
    if len(needle) == 1:
        return telling == 1
    return telling >= _LEAST_TELLING and sum(map(len, needle)) >= _LEAST_WINDOW
