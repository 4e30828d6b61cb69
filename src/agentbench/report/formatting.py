"""Formats numbers, summary lines and statements on differences for all text reports.

Every report uses these functions, so that reports cannot disagree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentbench.core.display_text import counted
from agentbench.integrity.records import ControlKind
from agentbench.report.summary import TAMPERED, ResultSummary
from agentbench.scoring.paired_comparison import Difference
from agentbench.scoring.statistics import ALPHA, Interval

NO_VALUE = "\u2013"
TESTS_TO_FIX = "tests to fix"
_SMALLEST_P = 0.0001
_MOST_DIGITS = 17  # of a float


class SummaryLine(NamedTuple):
    """One line of a summary: over all attempts, and over judged attempts."""

    name: str
    overall: str
    judged: str


def summary_lines(summary: ResultSummary) -> Iterator[SummaryLine]:
    """The lines of a summary; values over all attempts only have no second cell."""
    yield SummaryLine("resolved", str(summary.overall), str(summary.judged))
    if summary.overall.tasks is not None:
        judged_by_k = {rates.k: rates for rates in summary.judged_passes}
        for rates in summary.passes:
            judged = judged_by_k.get(rates.k)
            second = (percent(judged.any_of_k), percent(judged.all_of_k)) if judged else ("", "")
            yield SummaryLine(f"pass@{rates.k}", percent(rates.any_of_k), second[0])
            if rates.k > 1:
                yield SummaryLine(f"pass^{rates.k}", percent(rates.all_of_k), second[1])
    yield SummaryLine("cost per resolved", cost_per_resolved(summary), "")
    yield SummaryLine("tokens per resolved", amount(summary.per_resolved.tokens), "")
    yield SummaryLine("seconds per resolved", amount(summary.per_resolved.seconds), "")
    if summary.reasons:
        yield SummaryLine("reasons", ", ".join(summary.reason_counts), "")
        yield SummaryLine("faults", counts_text(summary.faults), "")
    if summary.controls:
        yield SummaryLine(TESTS_TO_FIX, controls_text(summary.controls), "")
    if summary.tampered:
        yield SummaryLine(TAMPERED, str(summary.tampered), "")


def judged_title(summary: ResultSummary) -> str:
    """The title of the rate that excludes failures which are not the agent's."""
    return f"excluding task and infrastructure errors ({summary.excluded})"


def counts_text(counts: Sequence[tuple[object, int]]) -> str:
    """Counts such as `2 TESTS_FAILED, 1 TIMEOUT`."""
    return ", ".join(f"{count} {what}" for what, count in counts)


def controls_text(controls: Sequence[tuple[ControlKind, int]]) -> str:
    """The shares of tests by how they are controlled: `3 sealed (75.0 %), 1 blind (25.0 %)`."""
    total = sum(count for _, count in controls)
    return ", ".join(
        f"{count} {kind} ({percent(count / total)})" for kind, count in controls if count
    )


def percent(share: float) -> str:
    """A share such as `90.0 %`."""
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """Percentage points with their sign, such as `+20.0`."""
    text = f"{100 * difference:+.1f}".replace("-", "\u2212")
    return "0.0" if text[1:] == "0.0" else text


def point_interval(interval: Interval, *, confidence: float = 1 - ALPHA) -> str:
    """An interval such as `95 % CI +10.0 to +30.0`; only a bound of zero is shown as zero."""
    bounds = []
    for bound in interval:
        text = points(bound)
        # A bound that is rounded to zero would look as if the interval included zero.
        is_rounded = text == "0.0" and bound
        bounds.append(f"{100 * bound:+.1g}".replace("-", "\u2212") if is_rounded else text)
    return f"{100 * confidence:.4g} % CI {' to '.join(bounds)}"


def p_value(value: float, *, alpha: float = ALPHA) -> str:
    """A p value such as `p = 0.031`, with more digits if it would look equal to `alpha`."""
    if value < min(_SMALLEST_P, alpha):
        return f"p < {_SMALLEST_P}"
    digits = 2
    # "p = 0.05" beside "Not statistically significant" would contradict itself.
    while value != alpha and float(f"{value:.{digits}g}") == alpha and digits < _MOST_DIGITS:
        digits += 1
    return f"p = {value:.{digits}g}"


def cost_per_resolved(summary: ResultSummary) -> str:
    """Dollars; `cost unknown` without a price, a dash if nothing was resolved or counted."""
    if summary.cost_usd is None:
        return "cost unknown"
    cost = summary.per_resolved.cost_usd
    return NO_VALUE if cost is None else f"${cost:.4f}"


def amount(number: float | None) -> str:
    """A number such as `12,345` or `1.5`; a dash for None."""
    if number is None:
        return NO_VALUE
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The statement on a difference, in parts and as a paragraph."""

    difference: str  # such as `+12.0 points`
    interval: str  # such as `95 % CI +3.0 to +25.0`
    verdict: str  # such as `Not statistically significant (p = 0.12)`
    test: str  # such as `Exact McNemar test over 12 tasks`
    power: str  # such as `Differences of 58.0 points or more are detectable (80 % power)`

    def __str__(self) -> str:
        return f"{self.difference}, {self.interval}. {self.verdict}. {self.test}. {self.power}."


def statement(difference: Difference) -> Statement:
    """The statement on a difference."""
    test = f"{difference.test[0].upper()}{difference.test[1:]}"
    p_text = p_value(difference.p_value, alpha=difference.alpha)
    better = "second" if difference.difference > 0 else "first"
    verdict = (
        f"Statistically significant ({p_text}): the {better} run is better"
        if difference.is_significant
        else f"Not statistically significant ({p_text})"
    )
    return Statement(
        difference=f"{points(difference.difference)} points",
        interval=point_interval(difference.interval, confidence=1 - difference.alpha),
        verdict=verdict,
        test=f"{test} over {counted(difference.tasks, 'task')}",
        power=detectable(difference),
    )


def detectable(difference: Difference) -> str:
    """The smallest detectable difference, in words."""
    if difference.detectable is None:
        return "Too few tasks to detect any difference"
    least = f"{100 * difference.detectable:.1f}"
    return f"Differences of {least} points or more are detectable (80 % power)"
