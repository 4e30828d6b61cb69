"""Pictures with a description and a table, and the template's number filters."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentbench.core.display_text import printable
from agentbench.report.formatting import p_value
from agentbench.report.html.drawing import COLOUR_NAMES, Colour
from agentbench.report.summary import Rate
from agentbench.scoring.statistics import Interval

MAX_RUNS = 40
"""The most runs in one picture; more would be unreadable."""

_MAX_LABEL = 34  # characters
_MAX_DESCRIPTION = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
    """One line of a legend."""

    colour: Colour
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of the page."""

    name: str
    title: str
    svg: str  # empty if there is nothing to draw
    note: str  # explains how to read it
    header: Sequence[str]
    rows: Sequence[Sequence[str]]  # the same numbers
    keys: Sequence[LegendEntry] = ()


OUTCOME_LEGEND = tuple(
    LegendEntry(colour=colour, says=says) for colour, says in COLOUR_NAMES.items()
)
"""The legend of outcomes."""


def short(text: str) -> str:
    """A run's label, shortened to fit next to its row."""
    return printable(text, limit=_MAX_LABEL)


def brief(text: str) -> str:
    """A description for people who do not see a picture; its table has the details."""
    return printable(text, limit=_MAX_DESCRIPTION)


def omitted_runs_note(count: int, shown: int) -> str:
    """A note if a picture omits some rows; else empty."""
    if count <= shown:
        return ""
    return f" The picture shows the first {shown} of {count} runs; the table has all."


_UNKNOWN = "\u2013"


def percent(part: float) -> str:
    """A share in percent."""
    return f"{100 * part:.1f} %"


def share(rate: Rate) -> str:
    """A rate without its interval."""
    return f"{rate.resolved}/{rate.total} ({percent(rate.share)})" if rate.total else "0/0"


def interval(bounds: Interval) -> str:
    """The bounds of a rate."""
    return f"{100 * bounds.low:.1f}\u2013{100 * bounds.high:.1f} %"


def usd(amount: float | None) -> str:
    """Money; a dash if it is unknown."""
    return _UNKNOWN if amount is None else f"${amount:.4f}" if amount < 1 else f"${amount:.2f}"


def whole(amount: float | None) -> str:
    """A large number."""
    return _UNKNOWN if amount is None else f"{amount:,.0f}"


def seconds(amount: float | None) -> str:
    """A time."""
    return _UNKNOWN if amount is None else f"{amount:,.0f} s"


TEMPLATE_FILTERS = (share, interval, usd, whole, seconds, p_value, percent)
"""The filters by their names."""
