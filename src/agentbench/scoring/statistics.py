"""Rates with their confidence intervals, and a permutation test of their difference.

Attempts at one task succeed and fail together, so the interval of their rate is that of fewer
independent attempts: the effective sample size of cluster samples (Kish 1965). pass@k and pass^k
are means over tasks of unbiased estimates: the share of the C(n, k) ways to choose k of a task's n
attempts that contain a resolved one (Chen et al. 2021, "Evaluating Large Language Models Trained on
Code", equation 1), or only resolved ones (Yao et al. 2024, "tau-bench").

If two runs are equally good, their names can be swapped at any task (Fisher 1935). The sum of the
tasks' differences is compared with its distribution over all swaps. With one attempt per task that
is the exact McNemar test. The interval holds every hypothesis that the same test would not reject:
swaps that favour one run, more strongly the larger a task's difference is (this is the interval of
Clopper and Pearson 1934 if all differences are equally large). So it contains zero unless the p
value is below `alpha`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, takewhile
from math import gcd, inf, lcm
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05
"""The default level of every test; intervals have the confidence 1 - ALPHA."""
_EVERY_K_UP_TO = 10  # above it, only k that double
_MANY = 2_000  # differing tasks; with more, the normal approximation is as good
_LARGEST = 2**13  # possible values of the sum; with more, differences are rounded
_LEAST = 1e-12  # the smallest bound that is not zero, so that rounding does not make it zero
_MAX_TILT = 2.0**14  # at this tilt, all differences except the smallest ones have the same sign
_Tail = Callable[[float], float]  # maps a tilt towards the second run to a probability


class Interval(NamedTuple):
    """A confidence interval: of a rate, within 0 to 1, or of a difference, within -1 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate (Wilson 1927), which is valid near 0 and 1, too."""
    if not 0 <= successes <= total:
        raise ValueError(f"expected 0 <= successes <= total, found {successes} of {total}")
    return wilson_bounds(successes / total if total else 0.0, total, confidence=confidence)


def wilson_bounds(rate: float, size: float, *, confidence: float = 0.95) -> Interval:
    """The Wilson interval for a sample whose effective size need not be a whole number.

    Raises:
        ValueError: confidence is not strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, found {confidence}")
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
        return self.resolved / self.attempts


Scores = Mapping[TaskScore, int]
"""How many tasks have each score."""


def effective_attempts(scores: Scores) -> float:
    """The number of independent attempts that would leave the rate equally uncertain.

    The variance of the rate is the cluster-robust one with the factor G/(G-1) for G tasks, as
    statsmodels' OLS on a constant gives it (a test compares both). It is computed from the counts,
    since a base installation has no statsmodels, and a million rows need no matrix.

    If that variance cannot be estimated (one task, or nothing or everything resolved), each task
    counts as one attempt. The result is never above the number of attempts, however evenly they
    are resolved.
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
    last = [least] if least > _EVERY_K_UP_TO else []
    chosen = chain(range(1, min(least, _EVERY_K_UP_TO) + 1), doublings, last)
    return tuple(pass_rates_at(scores, k) for k in chosen)


def pass_rates_at(scores: Scores, k: int) -> PassRates:
    """Both rates for one k."""
    least = min((score.attempts for score in scores), default=0)
    if not 1 <= k <= least:
        raise ValueError(f"expected k from 1 to {least}, the fewest attempts at a task; found {k}")
    tasks = sum(scores.values())
    any_of_k = [
        count * (1.0 - _share_of_draws(attempts - resolved, attempts, k))
        for (resolved, attempts), count in scores.items()
    ]
    all_of_k = [count * _share_of_draws(*score, k) for score, count in scores.items()]
    return PassRates(k, sum(any_of_k) / tasks, sum(all_of_k) / tasks)


# C(marked, k) / C(attempts, k), without large intermediate numbers.
def _share_of_draws(marked: int, attempts: int, k: int) -> float:
    share = 1.0
    for drawn in range(k):
        if drawn >= marked or share == 0:
            return 0.0
        share *= (marked - drawn) / (attempts - drawn)
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapTest:
    """The result of testing whether one run is favoured."""

    p_value: float  # two-sided
    is_exact: bool  # not by the normal approximation
    inverted: Callable[[float], Interval]
    """Maps a level to the interval, by inversion of the test, of how far one run is favoured: -1
    means that all differences favour the first run, 1 that all favour the second."""


def swap_test(differences: Mapping[Fraction, int]) -> SwapTest:
    """Test two runs by the number of tasks with each difference (second minus first)."""
    moved = {size: count for size, count in differences.items() if size and count}
    if not moved:
        return SwapTest(p_value=1.0, is_exact=True, inverted=lambda _alpha: Interval(-1.0, 1.0))
    if len({abs(size) for size in moved}) == 1:
        return _of_equal_sizes(moved)
    sums = _Sums.of(moved)
    tasks = sum(moved.values())
    is_exact = tasks <= _MANY
    sides = sums, sums.turned()
    upper, lower = (each.exact_tail() if is_exact else each.normal_tail() for each in sides)
    # No swap gives a smaller one than all tasks favouring one run; rounding might.
    p_value = min(1.0, max(2 * min(upper(0.0), lower(0.0)), 2.0 * 0.5**tasks))

    def inverted(alpha: float) -> Interval:
        low = sums.mean_at(_lower_end(upper, alpha))
        high = -sums.mean_at(_lower_end(lower, alpha))
        return _consistent_with_test(low, high, is_rejected=p_value < alpha)

    return SwapTest(p_value=p_value, is_exact=is_exact, inverted=inverted)


def _of_equal_sizes(moved: Mapping[Fraction, int]) -> SwapTest:
    from scipy.stats import binomtest

    gained = sum(count for size, count in moved.items() if size > 0)
    tested = binomtest(gained, sum(moved.values()))

    def inverted(alpha: float) -> Interval:
        low, high = tested.proportion_ci(1 - alpha, method="exact")
        return _consistent_with_test(2 * low - 1, 2 * high - 1, is_rejected=tested.pvalue < alpha)

    return SwapTest(p_value=min(1.0, float(tested.pvalue)), is_exact=True, inverted=inverted)


# The interval, corrected for rounding: it excludes zero exactly if the test rejects it.
def _consistent_with_test(low: float, high: float, *, is_rejected: bool) -> Interval:
    if not is_rejected:
        return Interval(min(0.0, float(low)), max(0.0, float(high)))
    if low + high > 0:
        return Interval(max(_LEAST, float(low)), float(high))
    return Interval(float(low), min(-_LEAST, float(high)))


# The tilt at which the upper tail is `alpha / 2`; minus infinity if no tilt is rejected.
def _lower_end(tail: _Tail, alpha: float) -> float:
    from scipy.optimize import brentq

    def short(tilt: float) -> float:
        return tail(tilt) - alpha / 2

    low, high = -1.0, 1.0
    while short(low) >= 0:
        low *= 2
        if low < -_MAX_TILT:
            return -inf
    while short(high) <= 0:
        high *= 2
    return float(brentq(short, low, high, xtol=1e-7))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """The sum of differences whose signs are drawn, in whole steps of a grid."""

    sizes: "NDArray[np.int64]"  # of differences, in steps
    counts: "NDArray[np.int64]"  # of tasks with this difference
    observed: int  # the sum of the differences that favour the second run

    @classmethod
    def of(cls, moved: Mapping[Fraction, int]) -> "_Sums":
        """The sum for the tasks that differ."""
        import numpy as np

        parts = lcm(*(size.denominator for size in moved))
        steps = {size: int(abs(size) * parts) for size in moved}
        total = sum(steps[size] * count for size, count in moved.items())
        if total < _LARGEST:
            common = gcd(*steps.values())
            steps = {size: step // common for size, step in steps.items()}
        else:
            steps = {size: max(1, round(step * _LARGEST / total)) for size, step in steps.items()}
        counts: dict[int, int] = {}
        for size, count in moved.items():
            counts[steps[size]] = counts.get(steps[size], 0) + count
        return cls(
            sizes=np.array(list(counts), dtype=np.int64),
            counts=np.array(list(counts.values()), dtype=np.int64),
            observed=sum(steps[size] * count for size, count in moved.items() if size > 0),
        )

    @property
    def total(self) -> int:
        return int(self.sizes @ self.counts)

    def turned(self) -> "_Sums":
        return _Sums(sizes=self.sizes, counts=self.counts, observed=self.total - self.observed)

    def mean_at(self, tilt: float) -> float:
        """The mean of the sum at a tilt, from -1 to 1."""
        import numpy as np

        if tilt in {-inf, inf}:
            return 1.0 if tilt > 0 else -1.0
        weights = self.sizes * self.counts
        return float(weights @ np.tanh(tilt * self._relative()) / self.total)

    # Maps a tilt to the probability, over all swaps, of a sum at least as large as observed. A
    # task's difference favours the second run with the probability `expit(2 * tilt * size)`. The
    # Fourier transform of the sum's distribution is the product of those of all tasks.
    def exact_tail(self) -> _Tail:
        import numpy as np
        from scipy.special import expit

        length = self.total + 1
        turns = -2j * np.pi * np.arange(length // 2 + 1) / length
        turned = [np.exp(turns * size) for size in self.sizes]

        def tail(tilt: float) -> float:
            transform = np.ones(turns.size, dtype=complex)
            chances = expit(2 * tilt * self._relative())
            for each, count, chance in zip(turned, self.counts, chances, strict=True):
                transform *= (1 - chance + chance * each) ** count
            likely = np.fft.irfft(transform, length)
            return float(np.clip(likely[self.observed :].sum(), 0.0, 1.0))

        return tail

    def normal_tail(self) -> _Tail:
        import numpy as np
        from scipy.special import ndtr

        weights, observed = self.sizes * self.counts, 2 * self.observed - self.total

        def tail(tilt: float) -> float:
            leaning = np.tanh(tilt * self._relative())
            variance = float((self.sizes * weights) @ (1 - leaning**2))
            excess = float(weights @ leaning) - observed
            if variance <= 0:
                return 1.0 if excess >= 0 else 0.0
            return float(ndtr(excess / variance**0.5))

        return tail

    # Sizes relative to the largest one, so that a tilt has no unit.
    def _relative(self) -> "NDArray[np.float64]":
        relative: NDArray[np.float64] = self.sizes / self.sizes.max()
        return relative
