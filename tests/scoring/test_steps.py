"""The rewards of a task's steps, combined as Harbor combines them."""

from datetime import timedelta

import pytest

from agentbench.scoring.classification import classify
from agentbench.scoring.evidence import (
    AgentEnding,
    CaseOutcome,
    CommandResult,
    Ending,
    Evidence,
    ExceptionFact,
    RewardFacts,
    ScriptTest,
    reward_shortfall,
)
from agentbench.scoring.steps import (
    RewardStrategy,
    StepEvidence,
    combined_evidence,
    combined_rewards,
    combined_work,
)
from agentbench.taxonomy import StageName

MEAN, FINAL = RewardStrategy.MEAN, RewardStrategy.FINAL
LEAST = {"reward": 1.0}


def verifier(rewards=None, ending=Ending.EXITED, fault="", code=0) -> Evidence:
    command = CommandResult(
        argv=("t",), ending=ending, exit_code=code, duration=timedelta(seconds=1)
    )
    facts = RewardFacts(rewards=rewards or {}, fault=fault)
    return Evidence(command=command, rewards=facts, own_seconds=1.0, warnings=("w",))


def step(name, rewards=None, *, least=None, **facts) -> StepEvidence:
    return StepEvidence(name=name, min_reward=least or {}, verifier=verifier(rewards, **facts))


@pytest.mark.parametrize(
    ("strategy", "steps", "combined"),
    [
        (MEAN, [{"reward": 1.0}, {"reward": 0.0}, {"reward": 0.0}], {"reward": 1 / 3}),
        (MEAN, [{"one": 1, "reward": 1}, {"two": 0, "reward": 0.25}],
         {"one": 0.5, "reward": 0.625, "two": 0.0}),
        (MEAN, [{"reward": 1.0}, None], {"reward": 1.0}),
        (MEAN, [None], {}),
        (FINAL, [{"reward": 1.0}, {"reward": 0.25}], {"reward": 0.25}),
        (FINAL, [{"reward": 1.0}, None], {}),
    ],
)  # fmt: skip
def test_rewards_are_combined_over_the_steps_with_a_result(strategy, steps, combined):
    assert combined_rewards(strategy, steps) == combined


@pytest.mark.parametrize(
    ("least", "rewards", "shortfall"),
    [
        ({}, {"reward": -1.0}, None),
        (LEAST, {"reward": 1.0}, None),
        (LEAST, {"reward": 0.5}, "reward 0.5 is below 1"),
        ({"style": 0.0}, {"reward": 1.0}, "it has no style, which has to be at least 0"),
        ({"reward": 0.5, "style": 1.0}, {"reward": 0.5, "style": 0.9}, "style 0.9 is below 1"),
    ],
)
def test_reward_that_is_missing_or_below_the_least_ends_the_rest(least, rewards, shortfall):
    one = step("a", rewards, least=least)
    assert one.shortfall == shortfall
    assert one.ends_rest is (shortfall is not None)


def test_gate_is_never_resolved_however_high_the_mean():
    evidence = combined_evidence([step("a", {"reward": 3.0}, least={"reward": 4.0})], 2, MEAN)
    assert evidence.rewards is not None
    assert evidence.rewards.rewards == {"reward": 3.0}
    shortfall = reward_shortfall(evidence.rewards, 0.0)
    assert shortfall == "step a: reward 3 is below 4; 1 of 2 steps not run"
    assert classify(StageName.FINAL_TEST, evidence) is None  # the verdict adds TESTS_FAILED


def test_tests_of_all_steps_have_the_names_of_their_steps():
    def with_test(each: StepEvidence) -> StepEvidence:
        facts = RewardFacts(
            rewards={"reward": 1.0},
            tests=(ScriptTest(node_id="says hello", outcome=CaseOutcome.PASSED),),
        )
        assert each.verifier is not None
        return each.replace(verifier=each.verifier.replace(rewards=facts))

    steps = [with_test(step("a")), step("b", {"reward": 1.0}), with_test(step("c"))]
    rewards = combined_evidence(steps, 3, MEAN).rewards
    assert rewards is not None
    assert [test.node_id for test in rewards.tests] == ["a: says hello", "c: says hello"]


def test_least_reward_of_the_last_step_has_nothing_to_end():
    evidence = combined_evidence([step("a", {"reward": 0.5}, least=LEAST)], 1, MEAN)
    assert reward_shortfall(evidence.rewards, 0.0) is None


@pytest.mark.parametrize(
    ("last", "reason", "detail"),
    [
        (step("b", fault="the verifier left no reward"), "INTERNAL_ERROR",
         "step b: the verifier left no reward"),
        (step("b", {"reward": 1.0}, ending=Ending.TIMED_OUT), "TIMEOUT",
         "still running after 1 s: t"),
        (StepEvidence(name="b", setup=ExceptionFact(
            type_name="E", message="m", reason="SETUP_FAILED", fault="agent")),
         "SETUP_FAILED", "E: m"),
    ],
)  # fmt: skip
def test_broken_step_ends_the_rest_and_is_left_out_of_the_mean(last, reason, detail):
    assert last.is_broken
    assert last.rewards is None
    evidence = combined_evidence([step("a", {"reward": 1.0}), last], 3, MEAN)
    assert evidence.rewards is not None
    assert evidence.rewards.rewards == {"reward": 1.0}
    failure = classify(StageName.FINAL_TEST, evidence)
    assert failure is not None
    assert (failure.reason, failure.fault, failure.detail) == (reason, "agent", detail)


def test_time_and_warnings_of_all_verifiers_are_kept():
    steps = [step("a", {"reward": 1.0}), step("b", {"reward": 1.0})]
    evidence = combined_evidence(steps, 2, FINAL)
    assert (evidence.own_seconds, evidence.warnings) == (2.0, ("w",))


def test_agents_evidence_is_that_of_the_first_step_that_it_failed():
    endings = [AgentEnding.SUBMITTED, AgentEnding.TIME_LIMIT, AgentEnding.STEP_LIMIT]
    steps = [
        StepEvidence(
            name=f"s{number}",
            agent=Evidence(agent=ending, agent_detail="late", own_seconds=2.0),
        )
        for number, ending in enumerate(endings)
    ]
    work = combined_work(steps)
    assert (work.agent, work.agent_detail) == (AgentEnding.TIME_LIMIT, "step s1: late")
    assert work.own_seconds == 6.0
    assert combined_work(steps[:1]).agent is AgentEnding.SUBMITTED
    assert combined_work([]) == Evidence()
