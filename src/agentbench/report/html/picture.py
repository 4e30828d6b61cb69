"""A picture with what it says in words and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentbench.report.harmless import harmless
from agentbench.report.html.colours import NAMES, Colour

MOST_ROWS = 40
"""Of runs in one picture: with more of them none could be read."""

_LABEL = 34  # characters
_DESCRIPTION = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One line of a legend."""

    colour: Colour
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a figure of the page is made of."""

    name: str
    title: str
    svg: str  # empty where there is nothing to draw
    note: str  # what is to be known for reading it
    header: Sequence[str]
    rows: Sequence[Sequence[str]]  # the same numbers
    keys: Sequence[Key] = ()


OUTCOMES = tuple(Key(colour=colour, says=says) for colour, says in NAMES.items())
"""The legend of what attempts come to."""


def short(text: str) -> str:
    """A label of a run that fits beside its row."""
    return harmless(text, limit=_LABEL)


def brief(text: str) -> str:
    """A description for those who do not see a picture; its table says more."""
    return harmless(text, limit=_DESCRIPTION)


def left_out(count: int, shown: int) -> str:
    """Says so where not all of some rows are in a picture; else nothing."""
    if count <= shown:
        return ""
    return f" The picture shows the first {shown} of {count} runs; the table has all."
