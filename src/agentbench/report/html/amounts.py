"""Numbers as the page writes them; the filters of its template."""

from agentbench.report.figures import p_value
from agentbench.report.summary import Rate
from agentbench.scoring.statistics import Interval

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


FILTERS = (share, interval, usd, whole, seconds, p_value, percent)
"""Under their own names."""
