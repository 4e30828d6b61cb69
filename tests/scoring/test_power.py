"""What could have been shown, against enumeration and a published sample size."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from agentbench.scoring.paired_comparison import detectable_difference, mcnemar_power


def power_by_enumeration(difference, tasks, flipped):
    """Over every number of tasks gained and lost: how likely it is, if it is significant."""
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
def test_the_power_of_mcnemar_s_test_is_that_of_every_outcome(difference, tasks, flipped):
    told = mcnemar_power(difference, tasks=tasks, flipped=flipped)
    expected = power_by_enumeration(difference, tasks, flipped)
    assert math.isclose(told, expected, rel_tol=1e-6)


def test_six_tasks_have_to_flip_all_and_so_they_do_in_four_of_five_comparisons_at_the_sixth_root():
    told = detectable_difference(np.zeros(6), has_single_attempts=True)
    assert math.isclose(told, 0.8 ** (1 / 6), abs_tol=1e-5)


@pytest.mark.parametrize("has_single_attempts", [True, False])
def test_five_tasks_can_show_nothing(has_single_attempts):
    differences = np.array([1, 1, 0, -1, 1.0])
    assert detectable_difference(differences, has_single_attempts=has_single_attempts) is None


def test_what_is_detectable_has_the_power_that_was_asked_for():
    differences = np.array([1.0] * 8 + [-1.0] * 4 + [0.0] * 48)
    told = detectable_difference(differences, has_single_attempts=True)
    share = max(told, 12 / 60)
    assert math.isclose(mcnemar_power(told, tasks=60, flipped=share), 0.8, abs_tol=1e-3)


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


def test_a_scatter_too_wide_for_any_difference_is_said_to_be_none():
    wild = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    assert detectable_difference(wild, has_single_attempts=False) is None


def test_tasks_that_all_moved_alike_are_taken_for_flips_that_may_come():
    told = detectable_difference(np.full(30, 0.25), has_single_attempts=False)
    assert told == detectable_difference(np.zeros(30), has_single_attempts=True)
