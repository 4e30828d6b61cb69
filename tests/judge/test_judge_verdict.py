from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault


def test_text_of_a_verdict_is_one_short_line() -> None:
    verdict = JudgeVerdict(
        task_id=TaskId("small"),
        task_digest="a" * 64,
        change_digest="c" * 64,
        resolved=False,
        reward=0.0,
        reason=FailureReason.TESTS_FAILED,
        fault=Fault.AGENT,
        detail="2 of 8\ntests failed",
        fixed=1,
        to_fix=3,
    )
    assert str(verdict) == (
        "small: TESTS_FAILED, fault: agent, reward 0, 1 of 3 fixed, 0 regressed: "
        "2 of 8 tests failed"
    )
    assert len(str(verdict.replace(detail="x" * 5_000))) == 300
