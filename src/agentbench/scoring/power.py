"""The smallest detectable difference between two runs over a number of tasks.

Detectable means that the test would find the difference in four of five comparisons (80 % power).
"""

from typing import TYPE_CHECKING

from agentbench.scoring.statistics import ALPHA

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POWER = 0.8
_EXACT_UP_TO = 10_000  # tasks; with more, the normal approximation is as good


def detectable_difference(
    differences: "NDArray[np.float64]", *, has_single_attempts: bool, alpha: float = ALPHA
) -> float | None:
    """The smallest difference that 80 % of comparisons would find.

    With one attempt per task it follows from the exact power of the McNemar test, for as many
    flipped tasks as observed or as the difference needs. With several attempts, or with more than
    10,000 tasks, it follows from the power of the paired t test for the observed scatter.

    Args:
        differences: For each task, the difference between the two runs' resolved shares.
        has_single_attempts: Whether each run made one attempt at each task.
        alpha: The level of the test.

    Returns:
        A share of tasks; None if not even the largest difference is detectable.
    """
    tasks = differences.size
    if 2.0 ** (1 - tasks) >= alpha:  # the p value even if all tasks flip one way
        return None
    spread = float(differences.std(ddof=1))
    is_flat = spread < 1e-9  # zero, apart from rounding
    if is_flat or (has_single_attempts and tasks <= _EXACT_UP_TO):
        flipped = 0.0 if is_flat else float((differences != 0).mean())
        return _detectable_by_mcnemar(tasks, flipped, alpha)
    return _detectable_by_t_test(tasks, spread, alpha)


def mcnemar_power(difference: float, *, tasks: int, flipped: float, alpha: float = ALPHA) -> float:
    """How often the exact McNemar test finds a difference, of either sign.

    Args:
        difference: The true difference, 0 to `flipped`.
        tasks: The number of compared tasks.
        flipped: The share of tasks that flip, either way.
        alpha: The level of the test.
    """
    import numpy as np
    from scipy.stats import binom

    flips = np.arange(tasks + 1)
    one_way = (1 + difference / flipped) / 2
    # The largest significant number of flips the other way; -1 if none is.
    bound = binom.ppf(alpha / 2, flips, 0.5)
    bound = np.where(2 * binom.cdf(bound, flips, 0.5) < alpha, bound, bound - 1)
    found = binom.cdf(bound, flips, 1 - one_way) + binom.cdf(bound, flips, one_way)
    return float(np.sum(binom.pmf(flips, tasks, flipped) * found))


def _detectable_by_mcnemar(tasks: int, flipped: float, alpha: float) -> float | None:
    from scipy.optimize import brentq

    def short(difference: float) -> float:
        """How far the power is above the required one."""
        share = max(flipped, difference)
        return mcnemar_power(difference, tasks=tasks, flipped=share, alpha=alpha) - _POWER

    return None if short(1.0) < 0 else float(brentq(short, 1e-9, 1.0, xtol=1e-6))


def _detectable_by_t_test(tasks: int, spread: float, alpha: float) -> float | None:
    from scipy.optimize import brentq
    from statsmodels.stats.power import TTestPower

    def short(effect: float) -> float:
        # One-sided: the power of the other side is sometimes NaN.
        """How far the power is above the required one."""
        found = TTestPower().power(effect, nobs=tasks, alpha=alpha / 2, alternative="larger")
        return float(found) - _POWER

    # statsmodels' solve_power returns sometimes a number and sometimes an array. A difference of
    # ten standard errors is always found.
    effect = float(brentq(short, 1e-9, 10 / tasks**0.5))
    return effect * spread if effect * spread <= 1 else None
