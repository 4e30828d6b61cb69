"""pass@k and pass^k against every choice of k attempts, the paper's own code, and scipy."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from agentbench.scoring.statistics import TaskScore, pass_rates, pass_rates_at

scores = st.integers(1, 7).flatmap(lambda n: st.builds(TaskScore, st.integers(0, n), st.just(n)))


def by_subsets(score, k):
    attempts = [number < score.resolved for number in range(score.attempts)]
    chosen = list(combinations(attempts, k))
    return sum(map(any, chosen)) / len(chosen), sum(map(all, chosen)) / len(chosen)


@given(st.lists(scores, min_size=1, max_size=5))
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
    told = pass_rates_at({TaskScore(c, n): 1}, k)
    assert math.isclose(told.any_of_k, theirs, rel_tol=1e-9)
    assert math.isclose(told.any_of_k, 1 - hypergeom.pmf(0, n, c, k), rel_tol=1e-9)
    assert math.isclose(told.all_of_k, hypergeom.pmf(k, n, c, k), rel_tol=1e-6, abs_tol=1e-12)


def test_a_task_weighs_the_same_however_often_it_was_tried():
    (told,) = pass_rates({TaskScore(1, 1): 1, TaskScore(0, 9): 1})
    assert told == (1, 0.5, 0.5)


def test_k_goes_up_to_the_least_number_of_attempts_and_by_doublings_above_ten():
    assert [rates.k for rates in pass_rates({TaskScore(3, 50): 1, TaskScore(9, 90): 1})] == [
        *range(1, 11), 20, 40, 50,
    ]  # fmt: skip
    assert [rates.k for rates in pass_rates({TaskScore(3, 20): 1})] == [*range(1, 11), 20]
    assert pass_rates({}) == ()


def test_very_many_attempts_give_a_number():
    told = pass_rates({TaskScore(500_000, 1_000_000): 1})
    assert told[0][1:] == (0.5, 0.5)
    assert told[-1][1:] == (1.0, 0.0)


@pytest.mark.parametrize("k", [0, 4])
def test_a_k_that_some_task_was_not_tried_so_often_is_refused(k):
    with pytest.raises(ValueError, match=f"from 1 to 3, .* found {k}"):
        pass_rates_at({TaskScore(1, 3): 1, TaskScore(1, 5): 1}, k)
