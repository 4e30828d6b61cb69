"""The closed form of Wilson's interval against scipy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from agentbench.scoring.statistics import Interval, wilson_bounds, wilson_interval

runs = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(runs, st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_it_agrees_with_scipy(run, confidence):
    successes, total = run
    theirs = binomtest(successes, total).proportion_ci(confidence, method="wilson")
    ours = wilson_interval(successes, total, confidence=confidence)
    assert math.isclose(ours.low, theirs.low, abs_tol=1e-9)
    assert math.isclose(ours.high, theirs.high, abs_tol=1e-9)


@given(runs, st.floats(0.001, 0.999))
def test_it_holds_the_rate_and_stays_within_0_and_1(run, confidence):
    successes, total = run
    low, high = wilson_interval(successes, total, confidence=confidence)
    assert 0 <= low <= successes / total + 1e-12
    assert successes / total - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
     (1, 29, 0.0061, 0.1718)],
)  # fmt: skip
def test_it_agrees_with_the_published_table(successes, total, low, high):
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", Statistics in
    # Medicine 17, table I, method 3.
    told = wilson_interval(successes, total)
    assert (round(told.low, 4), round(told.high, 4)) == (low, high)


def test_a_sample_may_be_worth_a_fraction_of_an_attempt():
    lows = [wilson_bounds(0.4, size).low for size in (9, 9.5, 10)]
    assert lows == sorted(lows)
    assert wilson_bounds(0.4, 10) == wilson_interval(4, 10)
    assert wilson_bounds(0.4, 0) == Interval(0.0, 1.0)


def test_nine_of_ten_is_the_interval_that_the_last_line_of_a_run_shows():
    low, high = wilson_interval(9, 10)
    assert (round(100 * low, 1), round(100 * high, 1)) == (59.6, 98.2)


def test_without_an_attempt_nothing_is_known():
    assert wilson_interval(0, 0) == Interval(0.0, 1.0)


def test_none_and_all_touch_the_ends_exactly():
    assert wilson_interval(0, 7).low == 0.0
    assert wilson_interval(7, 7).high == 1.0


@pytest.mark.parametrize(("successes", "total"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes, total):
    with pytest.raises(ValueError, match=f"found {successes} of {total}"):
        wilson_interval(successes, total)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_an_impossible_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson_interval(1, 2, confidence=confidence)
