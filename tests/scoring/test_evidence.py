import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring import FailureReason, Fault, StageName, judge
from agentbench.scoring.evidence import Ending, Evidence, RewardFacts, reward_shortfall
from agentbench.scoring.expectation import ExpectedTests
from agentbench.scoring.verdict import baseline_failure, baseline_warnings
from tests.scoring.strategies import (
    A,
    case,
    command,
    commands,
    ran,
    report,
    stage,
)

ABOVE_ZERO = ExpectedTests(reward_above=0.0)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
REWARDS = st.dictionaries(st.sampled_from(["reward", "a", "b"]), NUMBERS, min_size=1)
NONE_LEFT = RewardFacts(fault="the verifier left no reward.txt")


def gave(**rewards: float) -> Evidence:
    return Evidence(command=command(exit_code=0), rewards=RewardFacts(rewards=rewards))


def judged(final: Evidence, baseline: Evidence | None = None):
    before = gave(reward=0.0) if baseline is None else baseline
    return judge(
        ABOVE_ZERO, [stage(StageName.BASELINE_RUN, before), stage(StageName.FINAL_TEST, final)]
    )


@pytest.mark.parametrize(
    ("rewards", "lack"),
    [
        ({"reward": 1.0}, None),
        ({"reward": 0.01, "style": -1.0}, None),
        ({"reward": 0.0, "style": 1.0}, "reward 0 is not above 0"),
        ({"reward": -2.5}, "reward -2.5 is not above 0"),
        ({"speed": 1.0, "style": 0.5}, None),
        ({"speed": 1.0, "style": 0.0}, "style 0 is not above 0"),
    ],
)
def test_reward_of_that_name_decides_and_else_the_least(rewards, lack):
    assert reward_shortfall(RewardFacts(rewards=rewards), 0.0) == lack


def test_missing_reward_says_why():
    assert reward_shortfall(None, 0.0) == "the verifier left no reward"
    assert reward_shortfall(RewardFacts(), 0.0) == "the verifier left no reward"
    assert reward_shortfall(NONE_LEFT, 0.0) == "the verifier left no reward.txt"


def test_enough_of_a_reward_resolves_whatever_the_script_exits_with():
    final = gave(reward=1.0).replace(command=command(exit_code=3))
    assert judged(final).resolved


def test_too_little_is_failed_tests():
    verdict = judged(gave(reward=0.0))
    assert (verdict.failure_reason, verdict.fault) == (FailureReason.TESTS_FAILED, Fault.AGENT)
    assert verdict.detail == "reward 0 is not above 0"


def test_no_reward_after_the_agents_work_is_an_internal_error_of_the_agents():
    verdict = judged(Evidence(command=command(exit_code=0), rewards=NONE_LEFT))
    assert (verdict.failure_reason, verdict.fault) == (FailureReason.INTERNAL_ERROR, Fault.AGENT)
    assert verdict.detail == "the verifier left no reward.txt"


def test_script_that_never_leaves_a_reward_is_the_tasks_fault():
    never = Evidence(command=command(exit_code=0), rewards=NONE_LEFT)
    verdict = judged(never, baseline=never)
    assert (verdict.failure_reason, verdict.fault) == (FailureReason.INTERNAL_ERROR, Fault.TASK)
    assert baseline_warnings(ABOVE_ZERO, never) == (
        "on the untouched files the verifier left no reward.txt",
    )


@pytest.mark.parametrize("ending", [Ending.TIMED_OUT, Ending.OUT_OF_MEMORY, Ending.OUT_OF_DISK])
def test_reward_of_a_script_that_was_cut_off_does_not_count(ending):
    final = gave(reward=1.0).replace(command=command(ending=ending, exit_code=1))
    verdict = judged(final)
    assert not verdict.resolved
    assert verdict.failure_reason is not FailureReason.TESTS_FAILED


def test_reward_before_any_work_ends_the_attempt():
    failure = baseline_failure(ABOVE_ZERO, gave(reward=0.5))
    assert failure is not None
    assert (failure.reason, failure.fault) == (FailureReason.BASELINE_NOT_FAILING, Fault.TASK)
    assert failure.detail == "the reward is above 0 before any work"
    assert not judged(gave(reward=1.0), baseline=gave(reward=0.5)).resolved


def test_usual_baseline_has_neither_failure_nor_warning():
    assert baseline_failure(ABOVE_ZERO, gave(reward=0.0)) is None
    assert baseline_warnings(ABOVE_ZERO, gave(reward=0.0)) == ()


@given(REWARDS, st.data())
def test_lower_reward_never_resolves(rewards, data):
    name = data.draw(st.sampled_from(sorted(rewards)))
    lower = rewards | {name: data.draw(st.floats(max_value=rewards[name], allow_nan=False,
                                                 allow_infinity=False))}  # fmt: skip
    if judged(gave(**lower)).resolved:
        assert judged(gave(**rewards)).resolved


@given(REWARDS, NUMBERS, NUMBERS)
def test_higher_threshold_never_resolves(rewards, one, other):
    facts = RewardFacts(rewards=rewards)
    if reward_shortfall(facts, max(one, other)) is None:
        assert reward_shortfall(facts, min(one, other)) is None


@given(commands)
def test_only_a_command_that_exited_0_by_itself_is_ok(result):
    assert result.ok == (result.ending is Ending.EXITED and result.exit_code == 0)


@pytest.mark.parametrize(
    ("ending", "exit_code", "expected"),
    [
        (Ending.EXITED, 0, True),
        (Ending.EXITED, 137, True),
        (Ending.TIMED_OUT, 0, False),
        (Ending.KILLED, 0, False),
        (Ending.LOST, None, False),
        (Ending.OUT_OF_DISK, 0, False),
        (Ending.OUT_OF_MEMORY, None, False),
        (Ending.OUT_OF_MEMORY, 137, False),
        (Ending.OUT_OF_MEMORY, 1, False),
        (Ending.OUT_OF_MEMORY, 0, True),
    ],
)
def test_only_a_command_that_exits_itself_is_complete(ending, exit_code, expected):
    assert Evidence(command=command(exit_code, ending)).ran_to_end is expected


@pytest.mark.parametrize(
    ("exit_code", "complete", "expected"),
    [(1, True, True), (1, False, False), (2, True, False), (137, True, False), (0, False, True)],
)
def test_complete_report_counts_after_an_oom_kill_of_a_child(exit_code, complete, expected):
    evidence = Evidence(
        command=command(exit_code, Ending.OUT_OF_MEMORY),
        report=report(case(A, "failed"), complete=complete),
    )
    assert evidence.ran_to_end is expected


def test_no_command_means_no_run():
    assert not Evidence().ran_to_end
    assert not Evidence(report=ran(case(A)).report).ran_to_end
