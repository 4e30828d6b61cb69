import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from agentbench.report.summary import Rate
from agentbench.scoring.statistics import (
    Interval,
    TaskScore,
    effective_attempts,
    pass_rates,
    pass_rates_at,
    swap_test,
    wilson_bounds,
    wilson_interval,
)

runs = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(runs, st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_wilson_interval_agrees_with_scipy(run, confidence):
    successes, total = run
    theirs = binomtest(successes, total).proportion_ci(confidence, method="wilson")
    ours = wilson_interval(successes, total, confidence=confidence)
    assert math.isclose(ours.low, theirs.low, abs_tol=1e-9)
    assert math.isclose(ours.high, theirs.high, abs_tol=1e-9)


@given(runs, st.floats(0.001, 0.999))
def test_wilson_interval_contains_the_rate(run, confidence):
    successes, total = run
    low, high = wilson_interval(successes, total, confidence=confidence)
    assert 0 <= low <= successes / total + 1e-12
    assert successes / total - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
     (1, 29, 0.0061, 0.1718)],
)  # fmt: skip
def test_wilson_interval_agrees_with_a_published_table(successes, total, low, high):
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", Statistics in
    # Medicine 17, table I, method 3.
    interval = wilson_interval(successes, total)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_sample_size_may_be_fractional():
    lows = [wilson_bounds(0.4, size).low for size in (9, 9.5, 10)]
    assert lows == sorted(lows)
    assert wilson_bounds(0.4, 10) == wilson_interval(4, 10)
    assert wilson_bounds(0.4, 0) == Interval(0.0, 1.0)


def test_no_attempt_gives_the_full_interval():
    assert wilson_interval(0, 0) == Interval(0.0, 1.0)


def test_none_and_all_touch_the_ends():
    assert wilson_interval(0, 7).low == 0.0
    assert wilson_interval(7, 7).high == 1.0


@pytest.mark.parametrize(("successes", "total"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes, total):
    with pytest.raises(ValueError, match=f"found {successes} of {total}"):
        wilson_interval(successes, total)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_impossible_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson_interval(1, 2, confidence=confidence)


def clustered_interval(scores):
    return Rate.of(scores).interval


scores = st.integers(1, 6).flatmap(lambda n: st.builds(TaskScore, st.integers(0, n), st.just(n)))


def robust_variance(tasks):
    outcomes = [n < task.resolved for task in tasks for n in range(task.attempts)]
    groups = np.repeat(np.arange(len(tasks)), [task.attempts for task in tasks])
    fit = sm.OLS(np.array(outcomes, dtype=float), np.ones(len(outcomes))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    return float(fit.cov_params()[0, 0])


@given(st.lists(scores, min_size=2, max_size=12))
def test_variance_is_that_of_a_cluster_robust_regression(tasks):
    resolved, attempts = (sum(column) for column in zip(*tasks, strict=True))
    assume(0 < resolved < attempts)
    rate, variance = resolved / attempts, robust_variance(tasks)
    binomial = rate * (1 - rate)
    expected = attempts if variance * attempts <= binomial else binomial / variance
    assert math.isclose(effective_attempts(Counter(tasks)), expected, rel_tol=1e-6)


def test_tasks_that_are_all_or_nothing_count_as_one_attempt_each_less_one():
    # By hand: each of G tasks of n attempts is off the mean by n/2, so the variance of the rate is
    # G (n/2)**2 / (G n)**2 * G/(G-1) = 1 / (4 (G-1)), and p (1 - p) is 1/4.
    ten = Counter({TaskScore(8, 8): 5, TaskScore(0, 8): 5})
    assert math.isclose(effective_attempts(ten), 9)


def test_unequal_numbers_of_attempts_by_hand():
    # 3 of 4 and 0 of 2: the rate is 1/2; off by +1 and -1; (1 + 1) / 36 * 2 = 1/9, and 1/4 of that.
    two = Counter({TaskScore(3, 4): 1, TaskScore(0, 2): 1})
    assert math.isclose(effective_attempts(two), 2.25)


@given(st.lists(scores, min_size=1, max_size=12))
def test_no_interval_is_without_width_or_narrower_than_that_of_as_many_independent_attempts(tasks):
    resolved, attempts = (sum(column) for column in zip(*tasks, strict=True))
    low, high = clustered_interval(Counter(tasks))
    plain = wilson_interval(resolved, attempts)
    assert 0 <= low < high <= 1
    assert low - 1e-9 <= resolved / attempts <= high + 1e-9
    assert high - low >= plain.high - plain.low - 1e-9


@pytest.mark.parametrize("resolved", [0, 5])
def test_tasks_count_once_where_none_or_all_attempts_are_resolved(resolved):
    interval = clustered_interval(Counter({TaskScore(resolved, 5): 8}))
    assert interval == wilson_interval(8 if resolved else 0, 8)


def test_one_task_is_one_observation_however_often_it_is_tried():
    low, high = clustered_interval(Counter({TaskScore(50, 100): 1}))
    assert effective_attempts(Counter({TaskScore(50, 100): 1})) == 1
    assert high - low > 0.85


def test_tasks_with_one_attempt_each_have_wilson_s_interval_but_for_the_factor_of_their_number():
    # p (1-p) / (p (1-p) / G * G/(G-1)): G - 1 of them.
    assert math.isclose(effective_attempts({TaskScore(1, 1): 3, TaskScore(0, 1): 7}), 9)


def test_interval_has_its_coverage_unlike_wilsons_alone():
    # docs/results.md quotes these: tasks whose rates are drawn from Beta(0.3, 0.3), four attempts.
    random, runs, tasks = np.random.default_rng(1), 1000, 20
    held = plain = 0
    for _ in range(runs):
        resolved = random.binomial(4, random.beta(0.3, 0.3, tasks))
        low, high = clustered_interval(Counter(TaskScore(int(each), 4) for each in resolved))
        held += low <= 0.5 <= high
        low, high = wilson_interval(int(resolved.sum()), 4 * tasks)
        plain += low <= 0.5 <= high
    assert 0.93 <= held / runs <= 0.97
    assert plain / runs < 0.8


def test_no_attempts_give_no_estimate():
    assert clustered_interval({}) == Interval(0.0, 1.0)


sizes = st.builds(Fraction, st.integers(-4, 4), st.just(4)) | st.sampled_from(
    [Fraction(numerator, 3) for numerator in (-2, -1, 1, 2)]
)
alphas = st.sampled_from([0.01, 0.05, 0.1, 0.3])


def tail_by_enumeration(differences, tilt):
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
def test_p_value_is_that_of_every_swap(differences):
    moved = [each for each in differences if each]
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, moved, strict=True)))
        for signs in product((1, -1), repeat=len(moved))
    ]
    expected = sum(each >= abs(sum(moved)) for each in sums) / len(sums)
    assert math.isclose(swap_test(Counter(differences)).p_value, expected, rel_tol=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(sizes, min_size=1, max_size=40), alphas)
def test_interval_has_zero_outside_exactly_if_the_test_rejects_it(differences, alpha):
    tested = swap_test(Counter(differences))
    low, high = tested.inverted(alpha)
    assert -1 <= low <= high <= 1
    assert (not low <= 0 <= high) == (tested.p_value < alpha)


@settings(deadline=None, max_examples=30)
@given(st.lists(sizes, min_size=2, max_size=8), st.sampled_from([0.05, 0.2]))
@example([Fraction(1), Fraction(1, 4), Fraction(1, 4), Fraction(-1, 4)], 0.2)
def test_end_is_the_first_tilt_that_the_test_rejects(differences, alpha):
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


def test_equal_differences_give_the_clopper_pearson_interval():
    # As Fay 2010 has it, "Two-sided exact tests and matching confidence intervals for discrete
    # data", The R Journal 2/1: of 9 and 2 flips p is 0.06543, and the interval holds zero.
    low, high = swap_test({Fraction(1): 9, Fraction(-1): 2, Fraction(0): 33}).inverted(0.05)
    exact = binomtest(9, 11).proportion_ci(method="exact")
    assert math.isclose(low, 2 * exact.low - 1)
    assert math.isclose(high, 2 * exact.high - 1)
    assert low < 0 < high


def test_equal_runs_favor_neither():
    tested = swap_test({Fraction(0): 12})
    assert (tested.p_value, tuple(tested.inverted(0.05))) == (1.0, (-1.0, 1.0))


def test_normal_approximation_continues_the_exact_test():
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


rates_scores = st.integers(1, 7).flatmap(
    lambda n: st.builds(TaskScore, st.integers(0, n), st.just(n))
)


def by_subsets(score, k):
    attempts = [number < score.resolved for number in range(score.attempts)]
    chosen = list(combinations(attempts, k))
    return sum(map(any, chosen)) / len(chosen), sum(map(all, chosen)) / len(chosen)


@given(st.lists(rates_scores, min_size=1, max_size=5))
def test_both_rates_are_those_of_every_choice_of_k_attempts(tasks):
    told = pass_rates(Counter(tasks))
    assert [rates.k for rates in told] == list(range(1, min(t.attempts for t in tasks) + 1))
    for rates in told:
        each = [by_subsets(task, rates.k) for task in tasks]
        assert math.isclose(rates.any_of_k, sum(any_ for any_, _ in each) / len(each))
        assert math.isclose(rates.all_of_k, sum(all_ for _, all_ in each) / len(each), abs_tol=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(200, 3, 100), (200, 150, 10), (100, 1, 1), (10, 10, 5)])
def test_pass_at_k_is_the_estimator_of_chen_et_al_2021(n, c, k):
    # Their figure 3: 1 - prod(1 - k / (n - c + 1 .. n)), and 1 where fewer than k failed.
    theirs = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    rates = pass_rates_at({TaskScore(c, n): 1}, k)
    assert math.isclose(rates.any_of_k, theirs, rel_tol=1e-9)
    assert math.isclose(rates.any_of_k, 1 - hypergeom.pmf(0, n, c, k), rel_tol=1e-9)
    assert math.isclose(rates.all_of_k, hypergeom.pmf(k, n, c, k), rel_tol=1e-6, abs_tol=1e-12)


def test_task_weighs_the_same_however_often_it_was_tried():
    (told,) = pass_rates({TaskScore(1, 1): 1, TaskScore(0, 9): 1})
    assert told == (1, 0.5, 0.5)


def test_k_goes_up_to_the_least_number_of_attempts_and_by_doublings_above_ten():
    assert [rates.k for rates in pass_rates({TaskScore(3, 50): 1, TaskScore(9, 90): 1})] == [
        *range(1, 11), 20, 40, 50,
    ]  # fmt: skip
    assert [rates.k for rates in pass_rates({TaskScore(3, 20): 1})] == [*range(1, 11), 20]
    assert pass_rates({}) == ()


def test_very_many_attempts_give_a_number():
    rates = pass_rates({TaskScore(500_000, 1_000_000): 1})
    assert rates[0][1:] == (0.5, 0.5)
    assert rates[-1][1:] == (1.0, 0.0)


@pytest.mark.parametrize("k", [0, 4])
def test_k_above_the_attempts_of_a_task_is_refused(k):
    with pytest.raises(ValueError, match=f"from 1 to 3, .* found {k}"):
        pass_rates_at({TaskScore(1, 3): 1, TaskScore(1, 5): 1}, k)
