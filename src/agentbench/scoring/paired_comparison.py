"""Compares two sets of attempts task by task, and computes the smallest detectable difference.

Detectable means that the test would find the difference in four of five comparisons (80 % power).

Each task is compared with itself, so that its difficulty cancels out. Chance decides which tasks
were drawn and how each attempt went; the test and the interval cover both, since they treat tasks
as units. The p value and the interval come from the same test. scipy and statsmodels are imported
when they are used.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product
from math import exp, hypot, log
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from agentbench.scoring.statistics import ALPHA, Interval, TaskScore, swap_test, wilson_bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POWER = 0.8
_EXACT_UP_TO = 10_000  # tasks; with more, the normal approximation is as good
_LEAST = 1e-12  # the smallest bound that is not zero, so that rounding does not make it zero


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
    """The share of comparisons in which the exact McNemar test finds a difference of either sign.

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
        """How far the power exceeds the required one."""
        share = max(flipped, difference)
        return mcnemar_power(difference, tasks=tasks, flipped=share, alpha=alpha) - _POWER

    return None if short(1.0) < 0 else float(brentq(short, 1e-9, 1.0, xtol=1e-6))


def _detectable_by_t_test(tasks: int, spread: float, alpha: float) -> float | None:
    from scipy.optimize import brentq
    from statsmodels.stats.power import TTestPower

    def short(effect: float) -> float:
        # One-sided: the power of the other side is sometimes NaN.
        """How far the power exceeds the required one."""
        found = TTestPower().power(effect, nobs=tasks, alpha=alpha / 2, alternative="larger")
        return float(found) - _POWER

    # statsmodels' solve_power returns sometimes a number and sometimes an array. A difference of
    # ten standard errors is always found.
    effect = float(brentq(short, 1e-9, 10 / tasks**0.5))
    return effect * spread if effect * spread <= 1 else None


class TaskPair(NamedTuple):
    """The results of one task in two runs."""

    first: TaskScore
    second: TaskScore

    @property
    def difference(self) -> Fraction:
        """The second run's resolved share minus the first's."""
        first, second = (Fraction(score.resolved, score.attempts) for score in self)
        return second - first


TaskPairs = Mapping[TaskPair, int]
"""How many tasks have each pair of results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second run minus first, over their common tasks; every task weighs the same."""

    tasks: int
    difference: float  # the mean of the tasks' differences
    interval: Interval  # of confidence 1 - alpha; excludes 0 exactly if p is below alpha
    p_value: float  # two-sided
    alpha: float  # the level of the test
    test: str  # the name of the test
    detectable: float | None  # the smallest detectable difference; None: none is detectable

    @property
    def is_significant(self) -> bool:
        return self.p_value < self.alpha


class Significance(NamedTuple):
    """The probability of a difference at least as large by chance, and the name of the test."""

    p_value: float
    name: str


def paired_difference(pairs: TaskPairs, *, alpha: float = ALPHA) -> Difference:
    """Compare two runs over their common tasks.

    Raises:
        ValueError: the runs have no common task.
    """
    if not pairs:
        raise ValueError("expected a task that both runs have, found none")
    sizes = _sizes(pairs)
    tested = swap_test(sizes)
    mean = float(sum(size * count for size, count in sizes.items()) / sizes.total())
    import numpy as np

    kinds = np.array([float(size) for size in sizes])
    return Difference(
        tasks=sizes.total(),
        difference=mean,
        interval=_interval(sizes, mean, tested.inverted(alpha), alpha),
        p_value=tested.p_value,
        alpha=alpha,
        test=_test_name(pairs, is_exact=tested.is_exact),
        detectable=detectable_difference(
            np.repeat(kinds, list(sizes.values())),
            has_single_attempts=_has_single_attempts(pairs),
            alpha=alpha,
        ),
    )


def significance(pairs: TaskPairs) -> Significance:
    """The p value of the null hypothesis that both runs are equally good at every task.

    If two runs have unequal numbers of attempts at a task, the test is only approximately exact.
    """
    tested = swap_test(_sizes(pairs))
    return Significance(tested.p_value, _test_name(pairs, is_exact=tested.is_exact))


# How many tasks have each difference; sorted, so that equal runs give equal float sums.
def _sizes(pairs: TaskPairs) -> Counter[Fraction]:
    sizes: Counter[Fraction] = Counter()
    for pair, tasks in pairs.items():
        sizes[pair.difference] += tasks
    return Counter(dict(sorted(sizes.items())))


def _has_single_attempts(pairs: TaskPairs) -> bool:
    return all(pair.first.attempts == pair.second.attempts == 1 for pair in pairs)


def _test_name(pairs: TaskPairs, *, is_exact: bool) -> str:
    if _has_single_attempts(pairs):
        return "exact McNemar test"
    return "permutation test" if is_exact else "permutation test, normal approximation"


# The interval of the mean difference. The mean is the product of how much tasks differ (`amount`)
# and which run that favours (`favour`). A bound on the estimate's side of zero combines the
# relative uncertainties of both factors, by the method of variance estimates recovery (Zou and
# Donner 2008) on a logarithmic scale. A bound beyond zero takes the largest possible amount. So
# only `favour` decides on which side of zero a bound is.
def _interval(sizes: Counter[Fraction], mean: float, favour: Interval, alpha: float) -> Interval:
    amount = float(sum(abs(size) * count for size, count in sizes.items()) / sizes.total())
    amounts = wilson_bounds(amount, _effective_tasks(sizes, amount), confidence=1 - alpha)
    if mean < 0:
        turned = _ends(-mean, amount, amounts, Interval(-favour.high, -favour.low))
        return Interval(-turned.high, -turned.low)
    return _ends(mean, amount, amounts, favour)


def _ends(mean: float, amount: float, amounts: Interval, favour: Interval) -> Interval:
    """The bounds for a mean of at least 0."""
    low, high = amounts.high * favour.low, amounts.high * favour.high
    if mean > 0:
        estimate = mean / amount
        more = log(amounts.high / amount), log(max(favour.high, _LEAST) / estimate)
        high = max(mean, mean * exp(hypot(*more)))
        if favour.low > 0:
            less = log(amount / max(amounts.low, _LEAST)), log(favour.low / estimate)
            low = min(mean, max(_LEAST, mean * exp(-hypot(*less))))
    return Interval(max(-1.0, low), min(1.0, high))


# The number of all-or-nothing tasks that would leave `amount` equally uncertain. With one attempt
# per task that is the number of tasks. Partial differences scatter less. One task with the largest
# scatter is added, so that equal differences do not count as certain.
def _effective_tasks(sizes: Counter[Fraction], amount: float) -> float:
    tasks = sizes.total()
    largest = amount * (1 - amount)
    if largest <= 0:
        return float(tasks)
    squares = float(sum(size**2 * count for size, count in sizes.items()) / tasks)
    scatter = ((tasks - 1) * max(0.0, squares - amount**2) + largest) / tasks
    return tasks * largest / scatter


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P values adjusted for their number, to compare with the same level (Holm 1979)."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return ()
    return tuple(float(each) for each in multipletests(p_values, method="holm")[1])


def compact_letters(size: int, separated: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Letters for the items 0, 1, 2 …; two items share a letter exactly if they are not separated.

    The compact letter display by insertion and absorption (Piepho 2004): a group that holds a
    separated pair is split into one group without each, and subsets of other groups are dropped.

    Args:
        size: The number of items, the best one first.
        separated: Pairs of items that differ significantly.
    """
    groups = [frozenset(range(size))] if size else []
    for one, other in separated:
        split: list[frozenset[int]] = []
        for group in groups:
            split += [group - {one}, group - {other}] if {one, other} <= group else [group]
        # Subsets of other groups are dropped, and equal groups are kept once.
        distinct = list(dict.fromkeys(split))
        groups = [group for group in distinct if not any(group < other for other in distinct)]
    named = list(zip(sorted(map(sorted, groups)), _letter_names(), strict=False))
    apart = "" if len(groups) <= len(ascii_lowercase) else " "
    return tuple(
        apart.join(name for group, name in named if number in group) for number in range(size)
    )


def _letter_names() -> Iterator[str]:
    """The letters in order, then pairs of them: a, b … z, aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))
