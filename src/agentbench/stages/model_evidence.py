"""What the door to the model saw, put to what the agent says of itself.

An agent's own account of why it stopped is worth little: aider ends with exit code 0 when its key
is refused, others print and hang. The door saw each request and each answer.
"""

from agentbench.agents.model_door import AGENTS_OWN_ERRORS, ModelFacts, ModelFailure
from agentbench.scoring.evidence import AgentEnding, Evidence
from agentbench.scoring.taxonomy import FailureReason, Fault

_EXPLAINED = frozenset(
    {
        AgentEnding.SUBMITTED,
        AgentEnding.TIME_LIMIT,
        AgentEnding.LLM_ERROR,
        AgentEnding.TOOL_ERROR,
        AgentEnding.CRASHED,
    }
)
"""Endings that a model which does not answer may well be the cause of."""


def with_model(evidence: Evidence, facts: ModelFacts) -> Evidence:
    """The evidence of an agent's stage, with what its door saw.

    A spent budget is a cost limit, and a last request that was never answered is an error of the
    model, whatever the agent made of it; an ending that says more (a step limit) stays.
    """
    if not _may_be_explained(evidence):
        return _found(evidence, facts)
    if facts.over_budget:
        return _found(_ended(evidence, AgentEnding.COST_LIMIT, _spent(facts)), facts)
    if facts.unanswered is not None:
        fault = Fault.AGENT if facts.unanswered.kind in AGENTS_OWN_ERRORS else Fault.INFRASTRUCTURE
        ended = _ended(evidence, AgentEnding.LLM_ERROR, _unanswered(evidence, facts))
        return _found(ended.model_copy(update={"agent_fault": fault}), facts)
    return _found(evidence, facts)


def _may_be_explained(evidence: Evidence) -> bool:
    if evidence.exception is not None:
        explained = {FailureReason.UNKNOWN, FailureReason.LLM_ERROR, FailureReason.TOOL_ERROR}
        return evidence.exception.reason in explained
    return evidence.agent in _EXPLAINED


def _ended(evidence: Evidence, ending: AgentEnding, detail: str) -> Evidence:
    return evidence.model_copy(update={"agent": ending, "agent_detail": detail, "exception": None})


def _found(evidence: Evidence, facts: ModelFacts) -> Evidence:
    return evidence.model_copy(update={"findings": (*evidence.findings, *facts.findings)})


def _spent(facts: ModelFacts) -> str:
    cost = facts.usage.cost_usd
    amount = "" if cost is None else f" of ${cost:.4f}"
    return f"the budget was spent: {facts.usage.requests} model requests{amount}"


def _unanswered(evidence: Evidence, facts: ModelFacts) -> str:
    assert facts.unanswered is not None
    said = evidence.exception.message if evidence.exception else evidence.agent_detail
    own = f"; {said}" if said else ""
    return f"{_shown(facts.unanswered)} ({_counted(facts)}){own}"


def _shown(failure: ModelFailure) -> str:
    status = f"HTTP {failure.status}" if failure.status is not None else "no answer"
    message = f": {failure.message}" if failure.message else ""
    return f"the model did not answer: {failure.kind}, {status}{message}"


def _counted(facts: ModelFacts) -> str:
    counts = ", ".join(f"{kind} x{count}" for kind, count in sorted(facts.errors.items()))
    return f"{counts}; {facts.usage.requests} requests in all"
