import math
import subprocess
from dataclasses import replace
from pathlib import Path
from pathlib import PurePosixPath as P

import pytest
from pydantic import ValidationError

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.agent_work.agent_outcome import (
    checked_outcome,
    combined_outcome,
    render_patch,
    with_model,
)
from agentbench.core.files import FileContent
from agentbench.errors import LLMError
from agentbench.models.interface import ModelErrorKind, ModelFailure, ModelTraffic, ModelUsage
from agentbench.scoring.classification import classify, exception_fact
from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.scoring.strategies import command

BASE = {P("a.txt"): b"one\ntwo\nthree\n", P("gone.txt"): b"bye\n", P("bare"): b"no line end"}


def file(content: bytes, *, executable: bool = False) -> FileContent:
    return FileContent(content=content, executable=executable)


def test_patch_is_applied_by_git(tmp_path: Path):
    change = {
        P("a.txt"): file(b"one\n2\nthree\n"),
        P("gone.txt"): None,
        P("bare"): file(b"still none"),
        P("sub/new.sh"): file(b"echo\n", executable=True),
    }
    for path, content in BASE.items():
        (tmp_path / path).write_bytes(content)
    (tmp_path / "change.patch").write_bytes(render_patch(change, BASE.get))
    subprocess.run(["git", "apply", "change.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_bytes() == b"one\n2\nthree\n"
    assert not (tmp_path / "gone.txt").exists()
    assert (tmp_path / "bare").read_bytes() == b"still none"
    assert (tmp_path / "sub/new.sh").read_bytes() == b"echo\n"
    assert (tmp_path / "sub/new.sh").stat().st_mode & 0o100


def test_patch_is_sorted_by_name():
    text = render_patch({P("b"): file(b"b\n"), P("a"): file(b"a\n")}, {}.get)
    assert text.index(b"a/a b/a") < text.index(b"a/b b/b")


def test_mode_change_is_in_the_patch():
    text = render_patch({P("gone.txt"): file(b"bye\n", executable=True)}, BASE.get)
    assert text == b"diff --git a/gone.txt b/gone.txt\nnew mode 100755\n"


@pytest.mark.parametrize(
    "content",
    [b"\0binary", b"x" * (512 * 1024 + 1), b"\n" * 20_001],
    ids=["binary", "long", "many"],
)
def test_binary_and_large_files_are_only_named(content):
    text = render_patch({P("new"): file(content)}, {}.get)
    assert text.endswith(b"Binary or large files differ\n")
    assert len(text) < 200


def test_non_unicode_name_is_escaped():
    assert rb"\udce9" in render_patch({P("caf\udce9"): file(b"")}, {}.get)


@pytest.mark.parametrize(("costs", "cost"), [((0.5, 0.25), 0.75), ((0.5, None), None)])
def test_outcome_of_steps_is_combined(costs, cost):
    outcomes = [
        AgentOutcome(
            ending=AgentEnding.SUBMITTED,
            steps=2,
            tool_calls=3,
            usage=ModelUsage(requests=4, input_tokens=5, cost_usd=each),
        )
        for each in costs
    ]
    late = Evidence(agent=AgentEnding.TIME_LIMIT, agent_detail="step one: late")
    found = combined_outcome(outcomes, late)
    assert found is not None
    assert (found.ending, found.detail) == (AgentEnding.TIME_LIMIT, "step one: late")
    assert (found.steps, found.tool_calls) == (4, 6)
    assert found.usage == ModelUsage(requests=8, input_tokens=10, cost_usd=cost)
    assert combined_outcome([], late) is None


GOOD = AgentOutcome(
    ending=AgentEnding.SUBMITTED,
    detail="done",
    command=command(0),
    steps=3,
    usage=ModelUsage(requests=2, cost_usd=0.5),
)


@pytest.mark.parametrize("outcome", [GOOD, AgentOutcome(ending=AgentEnding.STEP_LIMIT)])
def test_valid_outcome_is_unchanged(outcome):
    assert checked_outcome(outcome) == outcome


@pytest.mark.parametrize("nonsense", [None, "done", 0, {"ending": "submitted"}, AgentOutcome])
def test_other_results_are_refused(nonsense):
    with pytest.raises(TypeError, match=f"found {type(nonsense).__name__}"):
        checked_outcome(nonsense)


def test_ending_may_be_a_string():
    assert checked_outcome(replace(GOOD, ending="submitted")) == GOOD


@pytest.mark.parametrize(
    "wrong",
    [
        {"ending": "won"},
        {"detail": 3},
        {"steps": "many"},
        {"steps": None},
        {"command": "ls"},
        {"usage": 0.5},
        {"usage": ModelUsage(requests="x")},
    ],
)
def test_outcome_with_a_wrong_type_is_refused(wrong):
    with pytest.raises(ValidationError):
        checked_outcome(replace(GOOD, **wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"usage": ModelUsage(cost_usd=-0.1)},
        {"usage": ModelUsage(cost_usd=math.nan)},
        {"usage": ModelUsage(cost_usd=-math.inf)},
        {"usage": ModelUsage(input_tokens=-5)},
    ],
)
def test_negative_amount_is_refused(wrong):
    with pytest.raises(ValueError, match="negative or not a number"):
        checked_outcome(replace(GOOD, **wrong))


def test_detail_is_shortened_and_encodable():
    outcome = checked_outcome(replace(GOOD, detail="\udce9" + "x" * 10_000))
    assert outcome.detail.startswith("?x")
    assert len(outcome.detail) == 4096


RATE_LIMITED = ModelFailure(kind=ModelErrorKind.RATE_LIMIT, status=429, message="slow down")


def facts(failure=RATE_LIMITED, **changes):
    errors = {failure.kind: 5} if failure else {}
    return ModelTraffic(
        usage=ModelUsage(requests=7), errors=errors, last_failure=failure, **changes
    )


def judged(evidence):
    failure = classify(StageName.AGENT_RUN, evidence)
    return None if failure is None else (failure.reason, failure.fault)


def test_first_request_without_an_answer_is_counted_in_words():
    traffic = replace(facts(), usage=ModelUsage(requests=1), errors={})
    detail = with_model(Evidence(agent=AgentEnding.TIME_LIMIT), traffic).agent_detail
    assert detail.endswith(" (1 request in all)")


@pytest.mark.parametrize(
    "ending",
    [AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR, AgentEnding.TIME_LIMIT, AgentEnding.CRASHED],
)
def test_unanswered_model_outranks_the_agents_ending(ending):
    evidence = with_model(Evidence(agent=ending, agent_detail="agent exited 1"), facts())
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE)
    assert "rate_limit, HTTP 429: slow down (rate_limit x5; 7 requests in all)" in (
        evidence.agent_detail
    )
    assert evidence.agent_detail.endswith("; agent exited 1")


def test_answered_errors_change_nothing():
    evidence = Evidence(agent=AgentEnding.TOOL_ERROR, agent_detail="agent exited 3")
    seen = ModelTraffic(errors={ModelErrorKind.RATE_LIMIT: 2})
    assert with_model(evidence, seen) == evidence


@pytest.mark.parametrize(
    "kind", [ModelErrorKind.REFUSAL, ModelErrorKind.CONTEXT_LENGTH, ModelErrorKind.MALFORMED]
)
def test_refused_request_is_the_agents_fault(kind):
    failure = ModelFailure(kind=kind, status=400, message="")
    evidence = with_model(Evidence(agent=AgentEnding.SUBMITTED), facts(failure))
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.AGENT)


@pytest.mark.parametrize("ending", [AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR])
def test_spent_budget_is_giving_up(ending):
    spent = ModelTraffic(usage=ModelUsage(requests=3, cost_usd=2.0051), over_budget=True)
    evidence = with_model(Evidence(agent=ending), spent)
    assert judged(evidence) == (FailureReason.AGENT_GAVE_UP, Fault.AGENT)
    assert evidence.agent_detail == "the budget was spent: 3 model requests of $2.0051"


def test_step_limit_outranks_the_last_model_error():
    evidence = Evidence(agent=AgentEnding.STEP_LIMIT)
    assert with_model(evidence, facts()).agent is AgentEnding.STEP_LIMIT


def test_exception_after_a_model_error_is_an_llm_error():
    raised = exception_fact(StageName.AGENT_RUN, ConnectionError("all tries used up"))
    evidence = with_model(Evidence(exception=raised), facts())
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE)
    assert evidence.agent_detail.endswith("; all tries used up")


def test_exception_without_a_model_error_is_unchanged():
    raised = exception_fact(StageName.AGENT_RUN, ZeroDivisionError("odd"))
    assert judged(with_model(Evidence(exception=raised), ModelTraffic())) == (
        FailureReason.UNKNOWN,
        Fault.AGENT,
    )


def test_raised_llm_error_gets_its_fault():
    raised = exception_fact(StageName.AGENT_RUN, LLMError("refused"))
    refusal = ModelFailure(kind=ModelErrorKind.REFUSAL, status=200, message="")
    assert judged(with_model(Evidence(exception=raised), facts(refusal))) == (
        FailureReason.LLM_ERROR,
        Fault.AGENT,
    )


def test_endpoint_findings_are_added():
    finding = Finding(rule="gateway-path", severity=Severity.WARNING, where="/v1/files", what="")
    assert with_model(Evidence(agent=AgentEnding.STEP_LIMIT), facts(findings=(finding,))).findings
