"""The statement on a difference between two runs; every report takes it from here.

The table, the Markdown, the JSON document, the HTML page and the web page print these texts, so
that they cannot disagree.
"""

from dataclasses import dataclass

from agentbench.report.figures import p_value, point_interval, points
from agentbench.scoring.paired import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a difference means, in parts for tables and as a paragraph."""

    difference: str  # such as `+12.0 points`
    interval: str  # such as `95 % CI +3.0 to +25.0`
    verdict: str  # such as `Not statistically significant (p = 0.12)`
    test: str  # such as `Exact McNemar test over 12 tasks`
    power: str  # such as `Differences of 58.0 points or more are detectable (80 % power)`

    def __str__(self) -> str:
        return f"{self.difference}, {self.interval}. {self.verdict}. {self.test}. {self.power}."


def statement(difference: Difference) -> Statement:
    """The statement on a difference."""
    tasks = f"{difference.tasks} task{'' if difference.tasks == 1 else 's'}"
    test = f"{difference.test[0].upper()}{difference.test[1:]}"
    return Statement(
        difference=f"{points(difference.difference)} points",
        interval=point_interval(difference.interval, confidence=1 - difference.alpha),
        verdict=_verdict(difference),
        test=f"{test} over {tasks}",
        power=detectable(difference),
    )


def detectable(difference: Difference) -> str:
    """What so many tasks could have shown."""
    if difference.detectable is None:
        return "Too few tasks to detect any difference"
    least = f"{100 * difference.detectable:.1f}"
    return f"Differences of {least} points or more are detectable (80 % power)"


def _verdict(difference: Difference) -> str:
    shown = p_value(difference.p_value, alpha=difference.alpha)
    if not difference.is_significant:
        return f"Not statistically significant ({shown})"
    better = "second" if difference.difference > 0 else "first"
    return f"Statistically significant ({shown}): the {better} run is better"
