"""Numbers as people read them, and the lines of a summary."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentbench.report.summary import Summary
from agentbench.scoring.pass_at_k import PassRates
from agentbench.scoring.statistics import ALPHA, Interval

UNKNOWN_COST = "$?"
NOTHING = "\u2013"
_LEAST_P = 0.0001
_MOST_DIGITS = 17  # of a float


class Line(NamedTuple):
    """One line of a summary: over all attempts, and over those that were judged."""

    name: str
    overall: str
    judged: str


def summary_lines(summary: Summary) -> Iterator[Line]:
    """What there is to tell of a summary; what is true of all attempts alone has no second cell."""
    yield Line("resolved", str(summary.overall), str(summary.judged))
    if summary.overall.tasks is not None:
        told = {rates.k: rates for rates in summary.judged_passes}
        for rates in summary.passes:
            yield from _pass_lines(rates, told.get(rates.k))
    yield Line("cost per resolved", cost_per_resolved(summary), "")
    yield Line("tokens per resolved", amount(summary.tokens_per_resolved), "")
    yield Line("seconds per resolved", amount(summary.seconds_per_resolved), "")
    if summary.reasons:
        yield Line("reasons", counted(summary.reasons), "")
        yield Line("faults", counted(summary.faults), "")


def _pass_lines(rates: PassRates, judged: PassRates | None) -> Iterator[Line]:
    second = (percent(judged.any_of_k), percent(judged.all_of_k)) if judged else ("", "")
    yield Line(f"pass@{rates.k}", percent(rates.any_of_k), second[0])
    if rates.k > 1:
        yield Line(f"pass^{rates.k}", percent(rates.all_of_k), second[1])


def judged_title(summary: Summary) -> str:
    """What the second denominator is."""
    return f"judged: without {summary.lost} lost to task or infrastructure"


def counted(counts: Sequence[tuple[object, int]]) -> str:
    """Such as `2 TESTS_FAILED, 1 TIMEOUT`."""
    return ", ".join(f"{count} {what}" for what, count in counts)


def percent(share: float) -> str:
    """Such as `90.0 %`."""
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """Such as `+20.0`: percentage points with their sign."""
    shown = f"{100 * difference:+.1f}".replace("-", "\u2212")
    return "0.0" if shown[1:] == "0.0" else shown


def point_interval(interval: Interval, *, confidence: float = 1 - ALPHA) -> str:
    """Such as `95 % CI +10.0 to +30.0`; an end that is not zero is not shown as zero."""
    low, high = (_bound(bound) for bound in interval)
    return f"{100 * confidence:.4g} % CI {low} to {high}"


def _bound(bound: float) -> str:
    shown = points(bound)
    return f"{100 * bound:+.1g}".replace("-", "\u2212") if shown == "0.0" and bound else shown


def p_value(value: float, *, alpha: float = ALPHA) -> str:
    """Such as `p = 0.031`: two digits, or as many as tell it from `alpha`."""
    if value < min(_LEAST_P, alpha):
        return f"p < {_LEAST_P}"
    digits = 2
    while value != alpha and float(f"{value:.{digits}g}") == alpha and digits < _MOST_DIGITS:
        digits += 1
    return f"p = {value:.{digits}g}"


def cost_per_resolved(summary: Summary) -> str:
    """Dollars; `$?` where a price is unknown, a dash where nothing was resolved or counted."""
    if summary.cost_usd is None:
        return UNKNOWN_COST
    cost = summary.cost_per_resolved
    return NOTHING if cost is None else f"${cost:.4f}"


def amount(number: float | None) -> str:
    """Such as `12,345` or `1.5`; a dash for none."""
    if number is None:
        return NOTHING
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.1f}"
