"""Paired comparison against published examples, enumeration, and scipy's other tests."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, multinomial, ttest_1samp

from agentbench.scoring.paired_comparison import (
    TaskPair,
    detectable_difference,
    mcnemar_power,
    paired_difference,
    significance,
)
from agentbench.scoring.statistics import TaskScore, wilson_interval

NO, YES = TaskScore(0, 1), TaskScore(1, 1)
single = st.sampled_from([NO, YES])
several = st.integers(1, 4).flatmap(lambda n: st.builds(TaskScore, st.integers(0, n), st.just(n)))
pairs_of = st.builds(TaskPair, several, several)


def flips(both=0, gained=0, lost=0, neither=0):
    counts = {TaskPair(YES, YES): both, TaskPair(NO, YES): gained, TaskPair(YES, NO): lost}
    return {pair: n for pair, n in {**counts, TaskPair(NO, NO): neither}.items() if n}


def test_mcnemar_s_exact_p_value_is_that_of_a_published_table():
    # Fay 2010, "Two-sided exact tests and matching confidence intervals for discrete data", The R
    # Journal 2/1, and the manual of his package exact2x2: 21, 9, 2, 12 give p = 0.06543.
    test = significance(flips(both=21, lost=9, gained=2, neither=12))
    assert test.name == "exact McNemar test"
    assert math.isclose(test.p_value, 0.06543, abs_tol=5e-6)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 9))
def test_mcnemar_s_is_a_binomial_test_of_the_flips(gained, lost, both):
    if gained + lost + both == 0:
        return
    p_value = significance(flips(both=both, gained=gained, lost=lost)).p_value
    flipped = gained + lost
    assert math.isclose(
        p_value, binomtest(gained, flipped).pvalue if flipped else 1.0, rel_tol=1e-9
    )


DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)


def test_swapping_at_each_task_gives_fisher_s_p_value_of_darwin_s_maize():
    # Fisher 1935, The Design of Experiments, section 21: of the 32,768 ways to give signs to the 15
    # differences 863 have a sum as large or larger, and so 1,726 one as far from none.
    pairs = Counter(
        TaskPair(TaskScore(max(0, -each), 75), TaskScore(max(0, each), 75)) for each in DARWIN
    )
    test = significance(pairs)
    assert test.name == "permutation test"
    assert math.isclose(test.p_value, 1726 / 32768, rel_tol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.lists(pairs_of, min_size=1, max_size=8))
def test_permutation_test_goes_through_every_swap(pairs):
    differences = [pair.difference for pair in pairs]
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    extreme = sum(one >= abs(sum(differences)) - 1e-9 for one in sums) / len(sums)
    if any(pair.first.attempts > 1 or pair.second.attempts > 1 for pair in pairs):
        assert math.isclose(significance(Counter(pairs)).p_value, extreme, rel_tol=1e-9)


def test_with_very_many_tasks_the_test_is_nearly_student_s():
    tasks = {
        TaskPair(TaskScore(1, 2), TaskScore(2, 2)): 1300,
        TaskPair(TaskScore(1, 2), TaskScore(0, 2)): 1200,
        TaskPair(TaskScore(0, 2), TaskScore(2, 2)): 1,
    }
    test = significance(tasks)
    assert test.name == "permutation test, normal approximation"
    expected = ttest_1samp([0.5] * 1300 + [-0.5] * 1200 + [1.0], 0).pvalue
    assert math.isclose(test.p_value, expected, rel_tol=0.02)


def mixed(tasks):
    random = np.random.default_rng(7)
    scores = [TaskScore(int(n), 4) for n in random.integers(0, 5, size=2 * tasks)]
    return Counter(map(TaskPair, scores[::2], scores[1::2]))


@pytest.mark.parametrize("tasks", [200, 1500])
def test_interval_of_many_tasks_is_near_that_of_the_normal_distribution(tasks):
    pairs = mixed(tasks)
    differences = [float(pair.difference) for pair in pairs.elements()]
    expected = ttest_1samp(differences, 0).confidence_interval()
    found = paired_difference(pairs)
    assert math.isclose(found.difference, np.mean(differences), abs_tol=1e-12)
    assert np.allclose(found.interval, expected, atol=0.01)


def test_interval_of_one_flip_allows_for_flips_that_were_not_seen():
    found = paired_difference(flips(both=3, gained=1))
    assert found.difference == 0.25
    assert found.interval.low < -0.5
    assert found.interval.high > 0.5


PAIRS = st.lists(st.builds(TaskPair, single, single), min_size=1, max_size=40) | st.lists(
    pairs_of, min_size=1, max_size=20
)


@settings(deadline=None, max_examples=150)
@given(PAIRS, st.sampled_from([0.01, 0.05, 0.1, 0.5]))
@example([TaskPair(NO, YES)] * 8 + [TaskPair(YES, NO)] * 2 + [TaskPair(NO, NO)] * 10, 0.05)
@example([TaskPair(NO, YES)] * 6, 0.05)
@example([TaskPair(NO, YES)] * 6, 2 / 2**6)  # p is alpha itself
@example([TaskPair(TaskScore(0, 3), TaskScore(1, 3))] * 6, 0.05)
def test_interval_excludes_zero_exactly_if_p_is_below_alpha(pairs, alpha):
    found = paired_difference(Counter(pairs), alpha=alpha)
    low, high = found.interval
    assert (not low <= 0 <= high) == (found.p_value < alpha) == found.is_significant
    if found.is_significant:
        assert (low > 0) == (found.difference > 0)


def test_interval_holds_the_true_difference_as_often_as_it_says():
    # Exactly, over every outcome of twelve tasks: how likely it is, and whether it is held.
    tasks = 12
    outcomes = [(up, down) for up in range(tasks + 1) for down in range(tasks + 1 - up)]
    intervals = {
        (up, down): paired_difference(
            flips(gained=up, lost=down, neither=tasks - up - down)
        ).interval
        for up, down in outcomes
    }
    for gained, lost in ((0.3, 0.3), (0.5, 0.1), (0.7, 0.05), (0.1, 0.0)):
        chances = multinomial(tasks, [gained, lost, 1 - gained - lost])
        held = sum(
            chances.pmf([up, down, tasks - up - down])
            for (up, down), (low, high) in intervals.items()
            if low - 1e-9 <= gained - lost <= high + 1e-9
        )
        assert held >= 0.95, (gained, lost)


def test_same_runs_give_the_same_numbers_in_any_order():
    pairs = mixed(50)
    turned = Counter(dict(reversed(pairs.items())))
    assert paired_difference(pairs) == paired_difference(turned)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.builds(TaskPair, single, single) | pairs_of, min_size=1, max_size=9))
def test_results_are_numbers_and_intervals_have_width(pairs):
    found = paired_difference(Counter(pairs))
    low, high = found.interval
    assert -1 <= low < high <= 1
    assert low - 1e-9 <= found.difference <= high + 1e-9
    assert 0 <= found.p_value <= 1
    assert found.detectable is None or 0 < found.detectable <= 1


THIRDS = [(0, 1, 1, 1), (0, 1, 1, 1), (1, 1, 0, 1), (1, 1, 2, 3), (2, 3, 0, 1)]


@settings(deadline=None, max_examples=30)
@given(st.lists(pairs_of, min_size=1, max_size=9))
@example([TaskPair(TaskScore(a, b), TaskScore(c, d)) for a, b, c, d in THIRDS])  # they add up to 0
def test_to_compare_the_other_way_round_turns_the_sign_and_nothing_else(pairs):
    there = paired_difference(Counter(pairs))
    back = paired_difference(Counter(TaskPair(pair.second, pair.first) for pair in pairs))
    assert math.isclose(there.difference, -back.difference, abs_tol=1e-12)
    assert math.isclose(there.p_value, back.p_value, rel_tol=1e-6)


def test_unflipped_tasks_get_the_wilson_bound():
    found = paired_difference(flips(both=7, neither=3))
    unseen = wilson_interval(0, 10).high
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert np.allclose(found.interval, (-unseen, unseen))


def test_interval_ends_at_one_where_every_task_flips():
    found = paired_difference(flips(gained=10))
    assert found.interval.high == 1.0
    exact, often = binomtest(10, 10).proportion_ci(), wilson_interval(10, 10)
    apart = math.hypot(math.log(2 * exact.low - 1), math.log(often.low))
    assert math.isclose(found.interval.low, math.exp(-apart))


def test_each_task_weighs_the_same_however_often_it_was_tried():
    tasks = {
        TaskPair(TaskScore(0, 1), TaskScore(1, 1)): 1,
        TaskPair(TaskScore(9, 9), TaskScore(0, 9)): 1,
    }
    assert paired_difference(tasks).difference == 0.0


def test_no_shared_task_is_refused():
    with pytest.raises(ValueError, match="found none"):
        paired_difference({})


def power_by_enumeration(difference, tasks, flipped):
    gained, lost = (flipped + difference) / 2, (flipped - difference) / 2
    chances = multinomial(tasks, [gained, lost, 1 - gained - lost])
    return sum(
        chances.pmf([up, down, tasks - up - down])
        for up, down in product(range(tasks + 1), repeat=2)
        if 0 < up + down <= tasks and binomtest(up, up + down).pvalue <= 0.05
    )


@pytest.mark.parametrize(
    ("difference", "tasks", "flipped"), [(0.6, 10, 0.7), (0.1, 12, 0.4), (0.9, 8, 0.95)]
)
def test_power_of_mcnemar_s_test_is_that_of_every_outcome(difference, tasks, flipped):
    power = mcnemar_power(difference, tasks=tasks, flipped=flipped)
    expected = power_by_enumeration(difference, tasks, flipped)
    assert math.isclose(power, expected, rel_tol=1e-6)


def test_six_tasks_have_to_flip_all_and_so_they_do_in_four_of_five_comparisons_at_the_sixth_root():
    detectable = detectable_difference(np.zeros(6), has_single_attempts=True)
    assert math.isclose(detectable, 0.8 ** (1 / 6), abs_tol=1e-5)


@pytest.mark.parametrize("has_single_attempts", [True, False])
def test_five_tasks_can_show_nothing(has_single_attempts):
    differences = np.array([1, 1, 0, -1, 1.0])
    assert detectable_difference(differences, has_single_attempts=has_single_attempts) is None


def test_detectable_difference_has_the_requested_power():
    differences = np.array([1.0] * 8 + [-1.0] * 4 + [0.0] * 48)
    detectable = detectable_difference(differences, has_single_attempts=True)
    share = max(detectable, 12 / 60)
    assert math.isclose(mcnemar_power(detectable, tasks=60, flipped=share), 0.8, abs_tol=1e-3)


def test_more_tasks_show_less_and_more_flips_show_less_too():
    few, many = (
        detectable_difference(np.array([1.0, -1.0, 0.0, 0.0] * n), has_single_attempts=True)
        for n in (10, 100)
    )
    still = detectable_difference(np.zeros(400), has_single_attempts=True)
    assert few > many > still


def test_several_attempts_need_as_many_tasks_as_published():
    # Cohen 1988, and the manual of G*Power 3.1: a paired t test of an effect of half a standard
    # deviation needs 34 pairs for 80 % at 5 %.
    def effect(tasks):
        scattered = np.array([0.4, -0.4] * (tasks // 2) + [0.0] * (tasks % 2))
        spread = scattered.std(ddof=1)
        return detectable_difference(scattered, has_single_attempts=False) / spread

    assert effect(34) < 0.5 < effect(33)


def test_scatter_too_wide_for_any_difference_detects_none():
    wild = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    assert detectable_difference(wild, has_single_attempts=False) is None


def test_tasks_that_all_moved_alike_are_taken_for_flips_that_may_come():
    detectable = detectable_difference(np.full(30, 0.25), has_single_attempts=False)
    assert detectable == detectable_difference(np.zeros(30), has_single_attempts=True)
