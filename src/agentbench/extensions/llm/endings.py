"""Counts, repeated requests and endings of an attempt of the built-in agent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL, ToolEffect
from agentbench.models.conversation import ModelAnswer, ModelToolCall, ToolReply, UnansweredError
from agentbench.models.interface import ModelEndpoint, ModelErrorKind, ModelFailure
from agentbench.scoring.evidence import AgentEnding
from agentbench.test_tools.agent_texts import escape_control
from agentbench.test_tools.arguments import escaped_name

MAX_REQUEST_TIME = timedelta(minutes=10)
"""The time limit of one request."""

_FIRST_PAUSE_SECONDS = 2.0  # seconds; five requests wait 80 s in all, longer than most rate limits
_PAUSE_FACTOR = 3
_MAX_MESSAGE_LENGTH = 300  # characters of a message


class NoAnswerError(Exception):
    """The model did not answer any request; holds the last failure."""

    def __init__(self, failure: ModelFailure, attempts: int) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.attempts = attempts


def complete_with_retries(
    ask: Callable[[timedelta], ModelAnswer],
    budget: Budget,
    *,
    max_attempts: int,
    sleep: Callable[[float], None],
) -> ModelAnswer:
    """Send a request until it is answered.

    Args:
        ask: Sends the request once, with a time limit.
        budget: The budget, which limits requests and pauses.
        max_attempts: The most requests to send.
        sleep: Waits for a number of seconds.
    """
    for number in count(1):
        try:
            return ask(min(MAX_REQUEST_TIME, budget.remaining()))
        except UnansweredError as error:
            pause = error.retry_after
            if pause is None:
                pause = _FIRST_PAUSE_SECONDS * _PAUSE_FACTOR ** (number - 1)
            # A pause that ends after the attempt is not begun.
            has_time = pause < budget.remaining().total_seconds()
            if number >= max_attempts or not error.may_retry or not has_time:
                raise NoAnswerError(error.failure, number) from error
            sleep(pause)
    raise AssertionError("a count does not end")


@dataclass(slots=True)
class AttemptCounts:
    """Counts steps, calls and errors; a step is one answer of the model."""

    steps: int = 0
    tool_calls: int = 0
    test_runs: int = 0
    errors_recovered: int = 0
    changes: int = 0  # calls that may have changed something
    failed_steps: int = 0  # in a row, without a successful call
    silent_steps: int = 0  # in a row, without any call
    _open_errors: int = 0  # since the last call that succeeded

    def count(self, call: ModelToolCall, reply: ToolReply) -> None:
        """Count one call; an error is recovered once a later call succeeds."""
        self.tool_calls += 1
        if reply.failed:
            self._open_errors += 1
            return
        self.errors_recovered += self._open_errors
        self._open_errors = 0
        effect = EFFECT_OF_TOOL[call.name]
        self.test_runs += effect is ToolEffect.TESTS
        self.changes += effect is ToolEffect.CHANGES

    def count_step(self, replies: list[ToolReply]) -> None:
        """Count a whole answer by its replies."""
        self.silent_steps = 0 if replies else self.silent_steps + 1
        if replies:
            failed = all(reply.failed for reply in replies)
            self.failed_steps = self.failed_steps + 1 if failed else 0

    def outcome(self, ending: AgentEnding, detail: str = "") -> AgentOutcome:
        """The outcome with all counts."""
        return AgentOutcome(
            ending=ending,
            detail=detail,
            steps=self.steps,
            tool_calls=self.tool_calls,
            tool_errors_recovered=self.errors_recovered,
            test_runs=self.test_runs,
        )


def out_of_steps(tally: AttemptCounts, budget: Budget) -> AgentOutcome:
    """The step limit was reached without a submission."""
    message = f"not submitted after {budget.max_steps} steps, which is the limit"
    return tally.outcome(AgentEnding.STEP_LIMIT, message)


def out_of_time(tally: AttemptCounts, budget: Budget) -> AgentOutcome:
    """The time limit was reached."""
    seconds = budget.timeout.total_seconds()
    message = f"the {seconds:.0f} s were used up at step {tally.steps}"
    return tally.outcome(AgentEnding.TIME_LIMIT, message)


def unanswered(
    tally: AttemptCounts, budget: Budget, model: ModelEndpoint, error: NoAnswerError
) -> AgentOutcome:
    """The model did not answer: the budget or the time was spent, or its service failed."""
    facts = model.traffic()
    if facts.over_budget:
        cost = facts.usage.cost_usd
        spent = "" if cost is None else f": ${cost:.4f} spent"
        limit = f"the budget of ${budget.max_cost_usd:.2f}"
        message = f"{limit} was used up at step {tally.steps}{spent}"
        return tally.outcome(AgentEnding.COST_LIMIT, message)
    if not budget.remaining():
        return out_of_time(tally, budget)
    after = f"after {error.attempts} {'try' if error.attempts == 1 else 'tries'}"
    return _llm_error(tally, error.failure, after)


def refused(tally: AttemptCounts, answer: ModelAnswer) -> AgentOutcome:
    """The model refused to continue."""
    failure = ModelFailure(kind=ModelErrorKind.REFUSAL, status=200, message=answer.text)
    return _llm_error(tally, failure, "the model declined")


def fell_silent(tally: AttemptCounts) -> AgentOutcome:
    """The model stopped calling tools: it is done or gave up."""
    many = f"{tally.silent_steps} answers in a row without a tool call, the last at step"
    # The tests decide in any case whether the change is right.
    if tally.changes:
        message = f"stopped without `submit`: {many} {tally.steps}"
        return tally.outcome(AgentEnding.SUBMITTED, message)
    message = f"gave up, and changed nothing: {many} {tally.steps}"
    return tally.outcome(AgentEnding.STEP_LIMIT, message)


def failed(tally: AttemptCounts, call: ModelToolCall, reply: ToolReply) -> AgentOutcome:
    """No tool call succeeds any more."""
    name = escaped_name(call.name).strip("'")
    rows = f"calls failed at {tally.failed_steps} steps in a row"
    message = f"tool error at step {tally.steps}: {name}: {_short(reply.text)} ({rows})"
    return tally.outcome(AgentEnding.TOOL_ERROR, message)


def _llm_error(tally: AttemptCounts, failure: ModelFailure, after: str) -> AgentOutcome:
    status = "no answer" if failure.status is None else f"HTTP {failure.status}"
    message = f": {_short(failure.message)}" if failure.message else ""
    detail = f"LLM error at step {tally.steps}: {failure.kind}, {status}, {after}{message}"
    return tally.outcome(AgentEnding.LLM_ERROR, detail)


def _short(text: str) -> str:
    line = escape_control(" ".join(text.split()))
    return line if len(line) <= _MAX_MESSAGE_LENGTH else f"{line[:_MAX_MESSAGE_LENGTH]}…"
