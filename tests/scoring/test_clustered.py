"""Intervals clustered by task against statsmodels' cluster-robust regression and by hand."""

import math
from collections import Counter

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st

from agentbench.report.summary import Rate
from agentbench.scoring.statistics import (
    Interval,
    TaskScore,
    effective_attempts,
    wilson_interval,
)


def clustered_interval(scores):
    return Rate.of(scores).interval


scores = st.integers(1, 6).flatmap(lambda n: st.builds(TaskScore, st.integers(0, n), st.just(n)))


def robust_variance(tasks):
    """Of the mean, by statsmodels: OLS on a constant, errors clustered by task."""
    outcomes = [n < task.resolved for task in tasks for n in range(task.attempts)]
    groups = np.repeat(np.arange(len(tasks)), [task.attempts for task in tasks])
    fit = sm.OLS(np.array(outcomes, dtype=float), np.ones(len(outcomes))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    return float(fit.cov_params()[0, 0])


@given(st.lists(scores, min_size=2, max_size=12))
def test_the_variance_is_that_of_a_cluster_robust_regression(tasks):
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
def test_where_none_or_all_are_resolved_each_task_counts_once(resolved):
    told = clustered_interval(Counter({TaskScore(resolved, 5): 8}))
    assert told == wilson_interval(8 if resolved else 0, 8)


def test_one_task_is_one_observation_however_often_it_is_tried():
    low, high = clustered_interval(Counter({TaskScore(50, 100): 1}))
    assert effective_attempts(Counter({TaskScore(50, 100): 1})) == 1
    assert high - low > 0.85


def test_tasks_with_one_attempt_each_have_wilson_s_interval_but_for_the_factor_of_their_number():
    # p (1-p) / (p (1-p) / G * G/(G-1)): G - 1 of them.
    assert math.isclose(effective_attempts({TaskScore(1, 1): 3, TaskScore(0, 1): 7}), 9)


def test_it_holds_the_true_rate_about_as_often_as_it_says_and_wilson_s_alone_does_not():
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


def test_without_attempts_nothing_is_known():
    assert clustered_interval({}) == Interval(0.0, 1.0)
