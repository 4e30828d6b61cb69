"""Success rates and their uncertainty: Wilson and clustered intervals, pass@k and pass^k.

Attempts at one task succeed and fail together, so the interval of their rate is that of fewer
independent attempts: the effective sample size of cluster samples (Kish 1965). pass@k and pass^k
are means over tasks of unbiased estimates: the share of the C(n, k) ways to choose k of a task's n
attempts that contain a resolved one (Chen et al. 2021, "Evaluating Large Language Models Trained
on Code", equation 1), or only resolved ones (Yao et al. 2024, "tau-bench").
"""

from collections.abc import Mapping
from itertools import chain, takewhile
from statistics import NormalDist
from typing import NamedTuple

ALPHA = 0.05
"""The default level of every test; intervals have the confidence 1 - ALPHA."""


class Interval(NamedTuple):
    """A confidence interval: of a rate, within 0 to 1, or of a difference, within -1 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate (Wilson 1927), which is valid near 0 and 1, too.

    Raises:
        ValueError: not 0 <= successes <= total, or confidence not strictly between 0 and 1.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"expected 0 <= successes <= total, found {successes} of {total}")
    return wilson_bounds(successes / total if total else 0.0, total, confidence=confidence)


def wilson_bounds(rate: float, size: float, *, confidence: float = 0.95) -> Interval:
    """The Wilson interval for a sample whose effective size need not be a whole number.

    Raises:
        ValueError: confidence is not strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, found {confidence}")
    if size == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * (rate * (1 - rate) / size + z * z / (4 * size * size)) ** 0.5 / (1 + z * z / size)
    low = 0.0 if rate == 0 else centre - half
    high = 1.0 if rate == 1 else centre + half
    return Interval(low, high)


class TaskScore(NamedTuple):
    """The results of one task: resolved attempts, and all attempts."""

    resolved: int
    attempts: int  # at least one

    @property
    def share(self) -> float:
        """The resolved share, 0 to 1."""
        return self.resolved / self.attempts


Scores = Mapping[TaskScore, int]
"""How many tasks have each score."""


class _Totals(NamedTuple):
    tasks: int
    attempts: int
    resolved: int


def _totals(scores: Scores) -> _Totals:
    return _Totals(
        tasks=sum(scores.values()),
        attempts=sum(score.attempts * count for score, count in scores.items()),
        resolved=sum(score.resolved * count for score, count in scores.items()),
    )


def effective_attempts(scores: Scores) -> float:
    """The number of independent attempts that would leave the rate equally uncertain.

    The variance of the rate is the cluster-robust one with the factor G/(G-1) for G tasks, as
    statsmodels' OLS on a constant gives it (a test compares both). It is computed from the counts,
    since a base installation has no statsmodels, and a million rows need no matrix.

    If that variance cannot be estimated (one task, or nothing or everything resolved), each task
    counts as one attempt. The result is never above the number of attempts, however evenly they
    are resolved.
    """
    tasks, attempts, resolved = _totals(scores)
    if tasks < 2 or resolved in {0, attempts}:
        return float(tasks)
    rate = resolved / attempts
    squares = sum(
        count * (score.resolved - rate * score.attempts) ** 2 for score, count in scores.items()
    )
    variance = squares / attempts**2 * tasks / (tasks - 1)
    if variance * attempts <= rate * (1 - rate):
        return float(attempts)
    return rate * (1 - rate) / variance


def clustered_interval(scores: Scores, *, confidence: float = 0.95) -> Interval:
    """The Wilson interval of the rate over all attempts, clustered by task; never of width 0."""
    _, attempts, resolved = _totals(scores)
    if not attempts:
        return Interval(0.0, 1.0)
    return wilson_bounds(resolved / attempts, effective_attempts(scores), confidence=confidence)


_EVERY_K_UP_TO = 10  # after it, only every doubling


class PassRates(NamedTuple):
    """The two rates over tasks for k attempts at each."""

    k: int
    any_of_k: float  # pass@k
    all_of_k: float  # pass^k


def pass_rates(scores: Scores) -> tuple[PassRates, ...]:
    """Both rates for each k up to the smallest number of attempts at a task.

    Above 10 only for 20, 40 and so on, and for that smallest number itself.
    """
    least = min((score.attempts for score in scores), default=0)
    doublings = takewhile(lambda k: k < least, (_EVERY_K_UP_TO << step for step in range(1, 64)))
    chosen = chain(
        range(1, min(least, _EVERY_K_UP_TO) + 1),
        doublings,
        [least] if least > _EVERY_K_UP_TO else [],
    )
    return tuple(pass_rates_at(scores, k) for k in chosen)


def pass_rates_at(scores: Scores, k: int) -> PassRates:
    """Both rates for one k.

    Raises:
        ValueError: k is not from 1 to the smallest number of attempts at a task.
    """
    least = min((score.attempts for score in scores), default=0)
    if not 1 <= k <= least:
        raise ValueError(f"expected k from 1 to {least}, the fewest attempts at a task; found {k}")
    tasks = sum(scores.values())
    return PassRates(
        k,
        sum(
            count * (1.0 - _share_of_draws(score.attempts - score.resolved, score.attempts, k))
            for score, count in scores.items()
        )
        / tasks,
        sum(
            count * _share_of_draws(score.resolved, score.attempts, k)
            for score, count in scores.items()
        )
        / tasks,
    )


def _share_of_draws(marked: int, attempts: int, k: int) -> float:
    """C(marked, k) / C(attempts, k), without large intermediate numbers."""
    share = 1.0
    for drawn in range(k):
        if drawn >= marked or share == 0:
            return 0.0
        share *= (marked - drawn) / (attempts - drawn)
    return share
