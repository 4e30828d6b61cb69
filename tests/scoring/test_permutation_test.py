"""Swapping two runs at each task, against enumeration and published intervals."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from agentbench.scoring.statistics import swap_test

sizes = st.builds(Fraction, st.integers(-4, 4), st.just(4)) | st.sampled_from(
    [Fraction(numerator, 3) for numerator in (-2, -1, 1, 2)]
)
alphas = st.sampled_from([0.01, 0.05, 0.1, 0.3])


def tail_by_enumeration(differences, tilt):
    """How likely a sum as large is, if each sign is drawn by a tilt of its size."""
    moved = [each for each in differences if each]
    largest, observed = max(map(abs, moved)), sum(moved)
    chances = [1 / (1 + math.exp(-2 * tilt * float(abs(each) / largest))) for each in moved]
    return sum(
        math.prod(
            chance if sign > 0 else 1 - chance for sign, chance in zip(signs, chances, strict=True)
        )
        for signs in product((1, -1), repeat=len(moved))
        if sum(s * abs(each) for s, each in zip(signs, moved, strict=True)) >= observed
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(sizes, min_size=1, max_size=9))
@example([Fraction(1, 3)] * 3 + [Fraction(-1, 3), Fraction(-2, 3)])
def test_the_p_value_is_that_of_every_swap(differences):
    moved = [each for each in differences if each]
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, moved, strict=True)))
        for signs in product((1, -1), repeat=len(moved))
    ]
    expected = sum(each >= abs(sum(moved)) for each in sums) / len(sums)
    assert math.isclose(swap_test(Counter(differences)).p_value, expected, rel_tol=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(sizes, min_size=1, max_size=40), alphas)
def test_the_interval_has_zero_outside_exactly_if_the_test_rejects_it(differences, alpha):
    tested = swap_test(Counter(differences))
    low, high = tested.inverted(alpha)
    assert -1 <= low <= high <= 1
    assert (not low <= 0 <= high) == (tested.p_value < alpha)


@settings(deadline=None, max_examples=30)
@given(st.lists(sizes, min_size=2, max_size=8), st.sampled_from([0.05, 0.2]))
@example([Fraction(1), Fraction(1, 4), Fraction(1, 4), Fraction(-1, 4)], 0.2)
def test_an_end_is_the_first_tilt_that_the_test_rejects(differences, alpha):
    moved = [each for each in differences if each]
    if len({abs(each) for each in moved}) < 2:
        return
    low, _ = swap_test(Counter(differences)).inverted(alpha)
    if low in {-1.0, 0.0}:
        return
    largest = max(map(abs, moved))

    def mean_at(tilt):
        leaning = (float(abs(x)) * math.tanh(tilt * float(abs(x) / largest)) for x in moved)
        return sum(leaning) / float(sum(map(abs, moved)))

    # The tilt of this mean, by bisection.
    near, far = -60.0, 60.0
    for _ in range(80):
        middle = (near + far) / 2
        near, far = (middle, far) if mean_at(middle) < low else (near, middle)
    assert math.isclose(tail_by_enumeration(moved, near), alpha / 2, rel_tol=1e-4)


def test_of_equal_differences_the_interval_is_clopper_s_and_pearson_s():
    # As Fay 2010 has it, "Two-sided exact tests and matching confidence intervals for discrete
    # data", The R Journal 2/1: of 9 and 2 flips p is 0.06543, and the interval holds zero.
    low, high = swap_test({Fraction(1): 9, Fraction(-1): 2, Fraction(0): 33}).inverted(0.05)
    exact = binomtest(9, 11).proportion_ci(method="exact")
    assert math.isclose(low, 2 * exact.low - 1)
    assert math.isclose(high, 2 * exact.high - 1)
    assert low < 0 < high


def test_where_nothing_differs_nothing_is_known_of_the_favoured_run():
    tested = swap_test({Fraction(0): 12})
    assert (tested.p_value, tuple(tested.inverted(0.05))) == (1.0, (-1.0, 1.0))


def test_the_normal_approximation_continues_the_exact_test():
    exact = swap_test({Fraction(1, 4): 1000, Fraction(-1, 4): 980, Fraction(1, 2): 20})
    normal = swap_test({Fraction(1, 4): 1001, Fraction(-1, 4): 980, Fraction(1, 2): 20})
    assert (exact.is_exact, normal.is_exact) == (True, False)
    assert math.isclose(exact.p_value, normal.p_value, rel_tol=0.1)
    for one, other in zip(exact.inverted(0.05), normal.inverted(0.05), strict=True):
        assert math.isclose(one, other, abs_tol=0.002)


def test_sizes_with_many_denominators_are_rounded_and_the_interval_still_inverts_the_test():
    parts = (5, 7, 8, 9, 11, 13)
    differences = Counter(
        Fraction(number % (2 * n) - n + (number % 3), 2 * n)
        for number in range(150)
        for n in parts[number % 6 : number % 6 + 1]
    )
    tested = swap_test(differences)
    for alpha in (tested.p_value * 0.999, min(0.99, tested.p_value * 1.001)):
        low, high = tested.inverted(alpha)
        assert (not low <= 0 <= high) == (tested.p_value < alpha)
