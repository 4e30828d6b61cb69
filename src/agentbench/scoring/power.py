"""The smallest difference between two runs that so many tasks could have shown.

That is, one that the test at its level would have found in four of five such comparisons (80 %
power).
"""

from typing import TYPE_CHECKING

from agentbench.scoring.statistics import ALPHA

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POWER = 0.8
_EXACT_UP_TO = 10_000  # tasks: with more the exact sum is as good as the normal one


def detectable_difference(
    differences: "NDArray[np.float64]", *, has_single_attempts: bool, alpha: float = ALPHA
) -> float | None:
    """The difference that would have been found in 80 % of comparisons.

    With one attempt per task, by the exact power of the McNemar test when as many tasks flip as
    here did, or as the difference needs. With several, or with more than 10,000 tasks, by the
    power of the paired t test when tasks scatter as here they did.

    Args:
        differences: of each task, between the two runs' resolved shares.
        has_single_attempts: whether each run made one attempt at each task.
        alpha: The level of the test.

    Returns:
        A share of tasks; None where no difference, however large, could be shown.
    """
    tasks = differences.size
    if 2.0 ** (1 - tasks) >= alpha:  # the p value even if all tasks flip one way
        return None
    spread = float(differences.std(ddof=1))
    is_flat = spread < 1e-9  # but for rounding
    if is_flat or (has_single_attempts and tasks <= _EXACT_UP_TO):
        flipped = 0.0 if is_flat else float((differences != 0).mean())
        return _detectable_by_mcnemar(tasks, flipped, alpha)
    return _detectable_by_t_test(tasks, spread, alpha)


def mcnemar_power(difference: float, *, tasks: int, flipped: float, alpha: float = ALPHA) -> float:
    """How often the exact McNemar test finds a difference, of this sign or the other.

    Args:
        difference: that there really is, 0 to `flipped`.
        tasks: that are compared.
        flipped: the share of tasks that flip, either way.
        alpha: The level of the test.
    """
    import numpy as np
    from scipy.stats import binom

    flips = np.arange(tasks + 1)
    one_way = (1 + difference / flipped) / 2
    # The largest number of flips the other way that still is significant; -1 where none is.
    bound = binom.ppf(alpha / 2, flips, 0.5)
    bound = np.where(2 * binom.cdf(bound, flips, 0.5) < alpha, bound, bound - 1)
    found = binom.cdf(bound, flips, 1 - one_way) + binom.cdf(bound, flips, one_way)
    return float(np.sum(binom.pmf(flips, tasks, flipped) * found))


def _detectable_by_mcnemar(tasks: int, flipped: float, alpha: float) -> float | None:
    from scipy.optimize import brentq

    def short(difference: float) -> float:
        share = max(flipped, difference)
        return mcnemar_power(difference, tasks=tasks, flipped=share, alpha=alpha) - _POWER

    return None if short(1.0) < 0 else float(brentq(short, 1e-9, 1.0, xtol=1e-6))


def _detectable_by_t_test(tasks: int, spread: float, alpha: float) -> float | None:
    from scipy.optimize import brentq
    from statsmodels.stats.power import TTestPower

    def short(effect: float) -> float:
        # Of the side that the difference is on: the other one's share of it is no number at times.
        found = TTestPower().power(effect, nobs=tasks, alpha=alpha / 2, alternative="larger")
        return float(found) - _POWER

    # Its own solve_power returns now a number and now an array. Ten standard errors are found
    # surely.
    effect = float(brentq(short, 1e-9, 10 / tasks**0.5))
    return effect * spread if effect * spread <= 1 else None
