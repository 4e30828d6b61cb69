"""What an agent gives back, checked: it is somebody else's code, and it goes on a record."""

import math
from dataclasses import fields

from pydantic import TypeAdapter

from agentbench.agents.interface import AgentOutcome, Usage

_DETAIL = 4_096  # characters
_OUTCOME = TypeAdapter(AgentOutcome)


def checked_outcome(given: object) -> AgentOutcome:
    """The outcome with every field of its type, and its detail of a length to be kept.

    Raises:
        TypeError: it is no AgentOutcome.
        ValueError: a field of it holds something else than it should.
    """
    if not isinstance(given, AgentOutcome):
        raise TypeError(f"solve() must return an AgentOutcome, found {type(given).__name__}")
    values: dict[str, object] = {each.name: getattr(given, each.name) for each in fields(given)}
    detail, usage = values["detail"], values["usage"]
    if isinstance(detail, str):
        values["detail"] = detail[:_DETAIL].encode("utf-8", "replace").decode()
    if isinstance(usage, Usage):
        values["usage"] = {each.name: getattr(usage, each.name) for each in fields(usage)}
    outcome = _OUTCOME.validate_python(values)
    if not all(map(_is_an_amount, _amounts(outcome))):
        raise ValueError("solve() returned an amount that is negative or no number")
    return outcome


def _amounts(outcome: AgentOutcome) -> list[float]:
    amounts: list[float] = [
        outcome.steps,
        outcome.tool_calls,
        outcome.tool_errors_recovered,
        outcome.test_runs,
    ]
    usage = outcome.usage
    if usage is not None:
        amounts += [usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens]
        amounts += [usage.cost_usd] if usage.cost_usd is not None else []
    return amounts


def _is_an_amount(number: float) -> bool:
    return math.isfinite(number) and number >= 0
