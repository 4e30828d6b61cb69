"""A picture with what it says in words and numbers, and the template's number filters."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentbench.core.display_text import printable
from agentbench.report.formatting import p_value
from agentbench.report.html.drawing import COLOUR_NAMES, Colour
from agentbench.report.summary import Rate
from agentbench.scoring.statistics import Interval

MAX_RUNS = 40
"""Of runs in one picture: with more of them none could be read."""

_MAX_LABEL = 34  # characters
_MAX_DESCRIPTION = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
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
    keys: Sequence[LegendEntry] = ()


OUTCOME_LEGEND = tuple(
    LegendEntry(colour=colour, says=says) for colour, says in COLOUR_NAMES.items()
)
"""The legend of what attempts come to."""


def short(text: str) -> str:
    """A label of a run that fits beside its row."""
    return printable(text, limit=_MAX_LABEL)


def brief(text: str) -> str:
    """A description for those who do not see a picture; its table says more."""
    return printable(text, limit=_MAX_DESCRIPTION)


def omitted_runs_note(count: int, shown: int) -> str:
    """Says so where not all of some rows are in a picture; else nothing."""
    if count <= shown:
        return ""
    return f" The picture shows the first {shown} of {count} runs; the table has all."


_UNKNOWN = "\u2013"


def percent(part: float) -> str:
    """A share of 1."""
    return f"{100 * part:.1f} %"


def share(rate: Rate) -> str:
    """A rate without its interval."""
    return f"{rate.resolved}/{rate.total} ({percent(rate.share)})" if rate.total else "0/0"


def interval(bounds: Interval) -> str:
    """The bounds of a rate."""
    return f"{100 * bounds.low:.1f}\u2013{100 * bounds.high:.1f} %"


def usd(amount: float | None) -> str:
    """Money; a dash where it is unknown."""
    return _UNKNOWN if amount is None else f"${amount:.4f}" if amount < 1 else f"${amount:.2f}"


def whole(amount: float | None) -> str:
    """A large number."""
    return _UNKNOWN if amount is None else f"{amount:,.0f}"


def seconds(amount: float | None) -> str:
    """A time."""
    return _UNKNOWN if amount is None else f"{amount:,.0f} s"


TEMPLATE_FILTERS = (share, interval, usd, whole, seconds, p_value, percent)
"""Under their own names."""
