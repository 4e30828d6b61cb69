"""How an attempt of the built-in agent ends short of a submission, and the line that says why."""

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.agents.llm.conversation import Answer, Reply, ToolCall
from agentbench.agents.llm.retrying import GaveUpError
from agentbench.agents.llm.tally import Tally
from agentbench.agents.llm.tools.safe_text import visible
from agentbench.agents.model_door import ModelErrorKind, ModelFailure
from agentbench.pytest_results.tool_calls.arguments import harmless_name
from agentbench.scoring.evidence import AgentEnding

_TOLD = 300  # characters of a message


def out_of_steps(tally: Tally, budget: Budget) -> AgentOutcome:
    """The model had its answers and has not submitted."""
    said = f"not submitted after {budget.max_steps} steps, which is the limit"
    return tally.outcome(AgentEnding.STEP_LIMIT, said)


def out_of_time(tally: Tally, budget: Budget) -> AgentOutcome:
    """The time is used up."""
    seconds = budget.timeout.total_seconds()
    said = f"the {seconds:.0f} s were used up at step {tally.steps}"
    return tally.outcome(AgentEnding.TIME_LIMIT, said)


def unanswered(tally: Tally, budget: Budget, model: ModelDoor, error: GaveUpError) -> AgentOutcome:
    """The model did not answer: no budget was left, or no time, or its service failed."""
    facts = model.facts()
    if facts.over_budget:
        cost = facts.usage.cost_usd
        spent = "" if cost is None else f": ${cost:.4f} spent"
        said = f"the budget of ${budget.max_cost_usd:.2f} was used up at step {tally.steps}{spent}"
        return tally.outcome(AgentEnding.COST_LIMIT, said)
    if not budget.remaining():
        return out_of_time(tally, budget)
    tries = f"after {error.tries} {'try' if error.tries == 1 else 'tries'}"
    return _llm_error(tally, error.failure, tries)


def refused(tally: Tally, answer: Answer) -> AgentOutcome:
    """The model declined to go on."""
    failure = ModelFailure(kind=ModelErrorKind.REFUSAL, status=200, message=answer.text)
    return _llm_error(tally, failure, "the model declined")


def fell_silent(tally: Tally) -> AgentOutcome:
    """The model calls no tool any more: it thinks it is done, or it has given up."""
    many = f"{tally.silent_steps} answers in a row without a tool call, the last at step"
    if tally.changes:
        said = f"stopped without `submit`: {many} {tally.steps}"
        return tally.outcome(AgentEnding.SUBMITTED, said)
    said = f"gave up, and changed nothing: {many} {tally.steps}"
    return tally.outcome(AgentEnding.STEP_LIMIT, said)


def failed(tally: Tally, call: ToolCall, reply: Reply) -> AgentOutcome:
    """No tool does its work any more."""
    name = harmless_name(call.name).strip("'")
    rows = f"calls failed at {tally.failed_steps} steps in a row"
    said = f"tool error at step {tally.steps}: {name}: {_short(reply.text)} ({rows})"
    return tally.outcome(AgentEnding.TOOL_ERROR, said)


def _llm_error(tally: Tally, failure: ModelFailure, after: str) -> AgentOutcome:
    status = "no answer" if failure.status is None else f"HTTP {failure.status}"
    message = f": {_short(failure.message)}" if failure.message else ""
    said = f"LLM error at step {tally.steps}: {failure.kind}, {status}, {after}{message}"
    return tally.outcome(AgentEnding.LLM_ERROR, said)


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= _TOLD else f"{line[:_TOLD]}…"
