import pytest

from agentbench.attempt.agent_work.agent_outcome import with_model
from agentbench.errors import LLMError
from agentbench.models.interface import ModelErrorKind, ModelFailure, ModelTraffic, ModelUsage
from agentbench.scoring.classification import classify, exception_fact
from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from agentbench.taxonomy import FailureReason, Fault, StageName

RATE_LIMITED = ModelFailure(kind=ModelErrorKind.RATE_LIMIT, status=429, message="slow down")


def facts(failure=RATE_LIMITED, **changes):
    errors = {failure.kind: 5} if failure else {}
    return ModelTraffic(
        usage=ModelUsage(requests=7), errors=errors, last_failure=failure, **changes
    )


def judged(evidence):
    failure = classify(StageName.AGENT_RUN, evidence)
    return None if failure is None else (failure.reason, failure.fault)


@pytest.mark.parametrize(
    "ending",
    [AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR, AgentEnding.TIME_LIMIT, AgentEnding.CRASHED],
)
def test_a_model_that_never_answered_is_the_reason_whatever_the_agent_made_of_it(ending):
    evidence = with_model(Evidence(agent=ending, agent_detail="agent exited 1"), facts())
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE)
    assert "rate_limit, HTTP 429: slow down (rate_limit x5; 7 requests in all)" in (
        evidence.agent_detail
    )
    assert evidence.agent_detail.endswith("; agent exited 1")


def test_errors_that_were_followed_by_an_answer_change_nothing():
    evidence = Evidence(agent=AgentEnding.TOOL_ERROR, agent_detail="agent exited 3")
    seen = ModelTraffic(errors={ModelErrorKind.RATE_LIMIT: 2})
    assert with_model(evidence, seen) == evidence


@pytest.mark.parametrize(
    "kind", [ModelErrorKind.REFUSAL, ModelErrorKind.CONTEXT_LENGTH, ModelErrorKind.MALFORMED]
)
def test_what_the_agent_brought_upon_itself_is_its_fault(kind):
    failure = ModelFailure(kind=kind, status=400, message="")
    evidence = with_model(Evidence(agent=AgentEnding.SUBMITTED), facts(failure))
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.AGENT)


@pytest.mark.parametrize("ending", [AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR])
def test_a_spent_budget_is_giving_up(ending):
    spent = ModelTraffic(usage=ModelUsage(requests=3, cost_usd=2.0051), over_budget=True)
    evidence = with_model(Evidence(agent=ending), spent)
    assert judged(evidence) == (FailureReason.AGENT_GAVE_UP, Fault.AGENT)
    assert evidence.agent_detail == "the budget was spent: 3 model requests of $2.0051"


def test_a_step_limit_says_more_than_a_model_that_failed_last():
    evidence = Evidence(agent=AgentEnding.STEP_LIMIT)
    assert with_model(evidence, facts()).agent is AgentEnding.STEP_LIMIT


def test_an_agent_that_raised_what_its_client_raised_met_a_model_that_failed():
    raised = exception_fact(StageName.AGENT_RUN, ConnectionError("all tries used up"))
    evidence = with_model(Evidence(exception=raised), facts())
    assert judged(evidence) == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE)
    assert evidence.agent_detail.endswith("; all tries used up")


def test_an_exception_of_an_agent_whose_model_answered_stays_its_own():
    raised = exception_fact(StageName.AGENT_RUN, ZeroDivisionError("odd"))
    assert judged(with_model(Evidence(exception=raised), ModelTraffic())) == (
        FailureReason.UNKNOWN,
        Fault.AGENT,
    )


def test_an_llm_error_that_was_raised_learns_whose_fault_it_is():
    raised = exception_fact(StageName.AGENT_RUN, LLMError("refused"))
    refusal = ModelFailure(kind=ModelErrorKind.REFUSAL, status=200, message="")
    assert judged(with_model(Evidence(exception=raised), facts(refusal))) == (
        FailureReason.LLM_ERROR,
        Fault.AGENT,
    )


def test_findings_of_the_door_are_kept_with_the_others():
    finding = Finding(rule="gateway-path", severity=Severity.WARNING, where="/v1/files", what="")
    assert with_model(Evidence(agent=AgentEnding.STEP_LIMIT), facts(findings=(finding,))).findings
