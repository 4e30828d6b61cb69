from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring.evidence import CaseOutcome
from agentbench.validation.task_proof import flake_rates, worst_rates

PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED


def test_the_rate_is_the_share_of_runs_that_ended_otherwise():
    runs = [{"a": PASSED, "b": PASSED}, {"a": FAILED, "b": PASSED}, {"a": PASSED, "b": PASSED}]
    assert flake_rates([*runs, {"a": PASSED, "b": PASSED}]) == {"a": 0.25}


def test_a_missing_test_ended_otherwise():
    assert flake_rates([{"a": PASSED, "b": PASSED}, {"a": PASSED}]) == {"b": 0.5}


def test_a_run_without_tests_tells_nothing():
    assert flake_rates([{"a": PASSED}, {}]) == {}


def test_the_worst_of_several_rates_counts():
    assert worst_rates({"a": 0.1, "b": 0.5}, {"a": 0.3}) == {"a": 0.3, "b": 0.5}


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from([PASSED, FAILED])), max_size=6)
)
def test_rates_are_above_0_and_below_1_and_only_of_tests_that_differ(runs):
    rates = flake_rates(runs)
    known = [run for run in runs if run]
    assert all(0 < rate < 1 for rate in rates.values())
    assert set(rates) == {n for n in "abc" if len({run.get(n) for run in known}) > 1}
