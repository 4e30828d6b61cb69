"""Success rates and their uncertainty: Wilson and clustered intervals, pass@k and pass^k.

Attempts at one task succeed and fail together, so the interval of their rate is that of fewer,
independent attempts: the effective sample size, as surveys of households have it (Kish 1965).
pass@k and pass^k are means over tasks of unbiased estimates: of the C(n, k) ways to choose k of a
task's n attempts, the share that holds a resolved one (Chen et al. 2021, "Evaluating Large Language
Models Trained on Code", equation 1), or resolved ones alone (Yao et al. 2024, "tau-bench").
"""

from collections.abc import Mapping
from itertools import chain, takewhile
from statistics import NormalDist
from typing import NamedTuple

ALPHA = 0.05
"""The level of every test, unless another one is asked for; intervals are of 1 minus it."""


class Interval(NamedTuple):
    """A confidence interval: of a rate, within 0 to 1, or of a difference, within -1 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate (Wilson 1927), which stays honest near 0 and 1.

    Raises:
        ValueError: not 0 <= successes <= total, or confidence not strictly between 0 and 1.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"expected 0 <= successes <= total, found {successes} of {total}")
    return wilson_bounds(successes / total if total else 0.0, total, confidence=confidence)


def wilson_bounds(rate: float, size: float, *, confidence: float = 0.95) -> Interval:
    """The same of a rate over a sample whose effective size need not be a whole number.

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
    """How many of the attempts at one task were resolved."""

    resolved: int
    attempts: int  # at least one

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.resolved / self.attempts


Scores = Mapping[TaskScore, int]
"""How many tasks have which score."""


def effective_attempts(scores: Scores) -> float:
    """How many independent attempts would leave the rate over all attempts as uncertain.

    The variance of the rate is the cluster-robust one with the factor G/(G-1) for G tasks, which
    is what statsmodels' OLS on a constant gives (a test holds it to that). It is computed from the
    counts, since a base installation has no statsmodels, and a million rows need no matrix.

    Where that variance cannot be estimated (one task; or nothing or everything resolved), each
    task counts as one attempt: nobody knows then how alike its attempts are. And attempts are
    never worth more than they are many, however evenly they happen to be spread over tasks.
    """
    tasks = sum(scores.values())
    attempts = sum(score.attempts * count for score, count in scores.items())
    resolved = sum(score.resolved * count for score, count in scores.items())
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
    """The Wilson interval of the rate over all attempts, clustered by task; never of no width."""
    attempts = sum(score.attempts * count for score, count in scores.items())
    if not attempts:
        return Interval(0.0, 1.0)
    resolved = sum(score.resolved * count for score, count in scores.items())
    return wilson_bounds(resolved / attempts, effective_attempts(scores), confidence=confidence)


_EVERY_K_UP_TO = 10  # up to here every k is told, and then every doubling


class PassRates(NamedTuple):
    """Two rates over tasks, of k attempts at each."""

    k: int
    any_of_k: float  # pass@k
    all_of_k: float  # pass^k


def pass_rates(scores: Scores) -> tuple[PassRates, ...]:
    """Both rates for each k up to the least number of attempts that a task has.

    Above 10 only 20, 40 and so on are told, and that least number itself.
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
        ValueError: k is not within 1 and the least number of attempts that a task has.
    """
    least = min((score.attempts for score in scores), default=0)
    if not 1 <= k <= least:
        raise ValueError(f"expected k from 1 to {least}, the fewest attempts at a task; found {k}")
    tasks = sum(scores.values())
    return PassRates(
        k,
        sum(count * _any_of_k(score, k) for score, count in scores.items()) / tasks,
        sum(count * _all_of_k(score, k) for score, count in scores.items()) / tasks,
    )


def _any_of_k(score: TaskScore, k: int) -> float:
    return 1.0 - _share_of_draws(score.attempts - score.resolved, score.attempts, k)


def _all_of_k(score: TaskScore, k: int) -> float:
    return _share_of_draws(score.resolved, score.attempts, k)


def _share_of_draws(wanted: int, attempts: int, k: int) -> float:
    """C(wanted, k) / C(attempts, k), of numbers that never grow large."""
    share = 1.0
    for drawn in range(k):
        if drawn >= wanted or share == 0:
            return 0.0
        share *= (wanted - drawn) / (attempts - drawn)
    return share
