"""Two runs at the same tasks: how much they differ, and whether chance alone explains it.

A task is compared with itself, so its difficulty cancels out. What could have come out otherwise is
which tasks were drawn, and how each attempt went; both are in the test and in the interval, since
both look at tasks as wholes. scipy and statsmodels, which do the sums, are imported when called.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from agentbench.scoring.detectable import detectable_difference
from agentbench.scoring.statistics import Interval, wilson_bounds
from agentbench.scoring.task_score import TaskScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEED = 20_260_102  # so that the same runs give the same numbers
_RESAMPLES = 9_999
_FEW = 15  # tasks that differ: up to here all 2**15 ways to swap are gone through
_MANY = 2_000  # tasks: with more the central limit theorem is as good as any resampling
_SOME = 1_000  # tasks: with more BCa's jackknife would cost their square, and corrects nothing
_DIGITS = 9  # of a sum of shares; the others are rounding
_EXACT = 12  # of a mean of them
_AT_ONCE = 2_000_000  # numbers of a resampling that are held at a time


class Pair(NamedTuple):
    """What came of one task in two runs."""

    first: TaskScore
    second: TaskScore

    @property
    def difference(self) -> float:
        """Of the shares, second minus first."""
        return self.second.share - self.first.share


Pairs = Mapping[Pair, int]
"""How many tasks came out so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second minus first, over tasks that both have; every task weighs the same."""

    tasks: int
    difference: float  # the mean of the tasks' differences
    interval: Interval  # 95 %
    p_value: float  # two-sided
    test: str  # what gave the p value
    detectable: float | None  # the least that would have been seen; None: no difference at all


class Significance(NamedTuple):
    """How often chance alone would give a difference as large, and what says so."""

    p_value: float
    name: str


def paired_difference(pairs: Pairs) -> Difference:
    """Compare two runs over the tasks that both have.

    Raises:
        ValueError: there are none.
    """
    if not pairs:
        raise ValueError("expected a task that both runs have, found none")
    differences = _differences(pairs)
    p_value, test = significance(pairs)
    return Difference(
        tasks=differences.size,
        difference=round(float(differences.mean()), _EXACT) + 0.0,  # and no minus before a zero
        interval=_interval(differences),
        p_value=p_value,
        test=test,
        detectable=detectable_difference(differences, has_single_attempts=_single(pairs)),
    )


def significance(pairs: Pairs) -> Significance:
    """The p value of the null hypothesis that both runs are alike at every task.

    One attempt per task: the exact McNemar test (McNemar 1947) on the tasks that flipped. Several:
    the test that it is a special case of, whose null distribution swaps the two runs at each task
    (Fisher 1935); all swaps where up to 15 tasks differ, else 9,999 of them. With more than 2,000
    tasks that differ, Student's t on the differences. Where two runs have unequal numbers of
    attempts at a task, swapping them is exact only up to that inequality.
    """
    if _single(pairs):
        return _mcnemar(pairs)
    import numpy as np
    from scipy import stats

    differences = _differences(pairs)
    moved = differences[differences != 0]  # swapping the others changes nothing
    if moved.size < 2:  # one, swapped, is as far from none
        return Significance(1.0, "permutation test")
    if moved.size > _MANY:
        return Significance(float(stats.ttest_1samp(differences, 0.0).pvalue), "paired t test")
    tested = stats.permutation_test(
        (moved,),
        _sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**_FEW if moved.size <= _FEW else _RESAMPLES,
        batch=max(1, _AT_ONCE // moved.size),
        rng=np.random.default_rng(_SEED),
    )
    return Significance(min(1.0, float(tested.pvalue)), "permutation test")


def _sum(values: "NDArray[np.float64]", axis: int) -> "NDArray[np.float64]":
    """Sums such that equal ones are equal: thirds added up in another order differ else."""
    import numpy as np

    rounded: NDArray[np.float64] = np.round(np.sum(values, axis=axis), _DIGITS)
    return rounded


def _differences(pairs: Pairs) -> "NDArray[np.float64]":
    import numpy as np

    kinds = [pair.difference for pair in pairs]
    # In an order of their own, so that the same tasks give the same resamples.
    return np.sort(np.repeat(np.array(kinds, dtype=float), list(pairs.values())))


def _single(pairs: Pairs) -> bool:
    return all(pair.first.attempts == pair.second.attempts == 1 for pair in pairs)


def _mcnemar(pairs: Pairs) -> Significance:
    from statsmodels.stats.contingency_tables import mcnemar

    table = [[0, 0], [0, 0]]
    for pair, tasks in pairs.items():
        table[pair.first.resolved][pair.second.resolved] += tasks
    return Significance(float(mcnemar(table, exact=True).pvalue), "exact McNemar test")


def _interval(differences: "NDArray[np.float64]") -> Interval:
    """The 95 % interval of the mean: bootstrap over tasks, BCa (Efron 1987) where it exists.

    Percentiles where it does not, and with more than 1,000 tasks; Student's t with more than
    2,000.
    """
    import numpy as np
    from scipy import stats

    if np.ptp(differences) < 1e-12:  # all are the same but for rounding
        return _of_alike(float(differences[0]), len(differences))
    if differences.size > _MANY:
        low, high = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
        return _within(low, high)
    methods = ["percentile"] if differences.size > _SOME else ["BCa", "percentile"]
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that BCa has no answer is seen in what it gives
            low, high = stats.bootstrap(
                (differences,),
                np.mean,
                method=method,
                n_resamples=_RESAMPLES,
                batch=max(1, _AT_ONCE // differences.size),
                rng=np.random.default_rng(_SEED),
            ).confidence_interval
        if np.isfinite([low, high]).all() and high > low:
            return _within(low, high)
    return _of_alike(float(differences.mean()), len(differences))


def _of_alike(difference: float, tasks: int) -> Interval:
    """Of tasks that all differ alike, there is nothing to resample: the others are those not seen.

    At most so many in a hundred tasks do otherwise as Wilson's upper bound of none in so many
    says, and at worst they are resolved by one run alone.
    """
    others = wilson_bounds(0.0, tasks).high
    same = (1 - others) * difference
    return _within(same - others, same + others)


def _within(low: float, high: float) -> Interval:
    return Interval(max(-1.0, float(low)), min(1.0, float(high)))
