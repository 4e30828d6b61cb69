"""The trajectory of an agent, in the format ATIF, from the log of its gateway.

ATIF is defined by Harbor's models (package `harbor` 0.25, `harbor.models.trajectories`).

A client sends the whole conversation with each request: messages after the model's last one are
new. If there is none, as after a shortened context, only unseen messages are new.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue

from agentbench.core.schema import Schema
from agentbench.core.untrusted_json import json_object
from agentbench.models.conversation import Message, Role, ToolResult
from agentbench.models.formats.interface import stream_events
from agentbench.models.formats.registry import FORMATS
from agentbench.models.gateway.exchange_log import LoggedExchange, read_exchanges
from agentbench.models.interface import ModelUsage

ATIF_VERSION: Final = "ATIF-v1.8"


class ToolCall(Schema):
    """A tool call by the model."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class ObservationResult(Schema):
    """The result of one call."""

    source_call_id: str | None = None
    content: str


class Observation(Schema):
    """The results of a step's calls."""

    results: tuple[ObservationResult, ...]


class Metrics(Schema):
    """Tokens and money of one answer; `prompt_tokens` counts cached ones, too."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None = None


class Step(Schema):
    """One turn."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Role
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: int | None = None
    extra: dict[str, JsonValue] | None = None


class TrajectoryAgent(Schema):
    """The agent."""

    name: str
    version: str
    model_name: str | None = None


class FinalMetrics(Schema):
    """Sums over all steps."""

    total_prompt_tokens: int
    total_completion_tokens: int
    total_cached_tokens: int
    total_cost_usd: float | None = None
    total_steps: int


class Trajectory(Schema):
    """`trajectory.json`."""

    schema_version: Literal["ATIF-v1.8"] = ATIF_VERSION
    session_id: str
    agent: TrajectoryAgent
    steps: tuple[Step, ...] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics
    extra: dict[str, JsonValue] | None = None


def request_messages(exchange: LoggedExchange) -> list[Message]:
    """The conversation in the request."""
    return list(FORMATS[exchange.wire].request_messages(exchange.request))


def answer_message(exchange: LoggedExchange) -> Message:
    """The model's answer, from JSON or a stream of server-sent events."""
    reader, body = FORMATS[exchange.wire], json_object(exchange.answer)
    if body is not None:
        return reader.answer_message(body)
    return reader.streamed_message(stream_events(exchange.answer))


def logged_exchanges(log: Path) -> list[LoggedExchange]:
    """The exchanges in the order of their starts, without those that only count tokens.

    Raises:
        OSError: the log cannot be read.
    """
    exchanges = (each for each in read_exchanges(log) if not each.counts_only)
    return sorted(exchanges, key=lambda exchange: exchange.time)


def build_trajectory(
    exchanges: Iterable[LoggedExchange], *, agent: TrajectoryAgent, session: str, usage: ModelUsage
) -> Trajectory | None:
    """The trajectory of an attempt; None if it is empty.

    Args:
        exchanges: The exchanges in the order of their starts.
        agent: The agent.
        session: The name of the attempt.
        usage: The sums that the endpoint counted.
    """
    teller = _TrajectoryBuilder(default_model=agent.model_name)
    for exchange in exchanges:
        teller.add(exchange)
    if not teller.drafts:
        return None
    steps = tuple(draft.step(number) for number, draft in enumerate(teller.drafts, start=1))
    return Trajectory(
        session_id=session,
        agent=agent,
        steps=steps,
        final_metrics=FinalMetrics(
            total_prompt_tokens=usage.input_tokens,
            total_completion_tokens=usage.output_tokens,
            total_cached_tokens=usage.cached_tokens,
            total_cost_usd=usage.cost_usd,
            total_steps=len(steps),
        ),
    )


@dataclass(slots=True, kw_only=True)
class _StepDraft:
    """A step whose calls may still be answered."""

    turn: Message
    time: str
    model: str | None = None
    metrics: Metrics | None = None
    error: str | None = None
    results: list[ToolResult] = field(default_factory=list)

    def waits_for(self, result: ToolResult) -> bool:
        """Whether the step has a call with this id."""
        call_count = sum(call.id == result.call_id for call in self.turn.calls)
        return call_count > sum(known.call_id == result.call_id for known in self.results)

    def step(self, number: int) -> Step:
        """The finished step."""
        is_agent = self.turn.speaker is Role.AGENT
        calls = tuple(
            ToolCall(tool_call_id=c.id, function_name=c.name, arguments=dict(c.arguments))
            for c in self.turn.calls
        )
        results = tuple(
            ObservationResult(source_call_id=r.call_id or None, content=r.text)
            for r in self.results
        )
        return Step(
            step_id=number,
            timestamp=self.time,
            source=self.turn.speaker,
            model_name=self.model,
            message=self.turn.text,
            reasoning_content=self.turn.reasoning or None if is_agent else None,
            tool_calls=calls or None if is_agent else None,
            observation=Observation(results=results) if results else None,
            metrics=self.metrics,
            llm_call_count=1 if is_agent else None,
            extra={"model_error": self.error} if self.error is not None else None,
        )


class _TrajectoryBuilder:
    def __init__(self, *, default_model: str | None) -> None:
        self.drafts: list[_StepDraft] = []
        self._default_model = default_model
        self._known_messages: set[tuple[Role, str]] = set()  # in all conversations
        self._since_answer: set[tuple[Role, str]] = set()

    def add(self, exchange: LoggedExchange) -> None:
        """Add the new turns of an exchange."""
        turns = request_messages(exchange)
        goes_on = any(turn.speaker is Role.AGENT for turn in turns)
        for turn in _new_messages(turns):
            self._add_message(turn, exchange, goes_on=goes_on)
        if exchange.error is None:
            self._add(answer_message(exchange), exchange)
            self._add_answer_facts(exchange)
            self._since_answer.clear()
        else:
            status = f"HTTP {exchange.status}" if exchange.status is not None else "no answer"
            text = f"the model did not answer: {exchange.error}, {status}: {exchange.message}"
            self._add(Message(speaker=Role.SYSTEM, text=text), exchange)
            self.drafts[-1].error = exchange.error

    def _add_message(self, turn: Message, exchange: LoggedExchange, *, goes_on: bool) -> None:
        for result in turn.results:
            waiting = (draft for draft in reversed(self.drafts) if draft.waits_for(result))
            draft = next(waiting, None)
            if draft is not None:
                draft.results.append(result)
        message_key = (turn.speaker, turn.text)
        may_recur = goes_on and turn.speaker is Role.USER  # a user may say "go on" twice
        known = self._since_answer if may_recur else self._known_messages
        if turn.text and message_key not in known:
            self._known_messages.add(message_key)
            self._since_answer.add(message_key)
            self._add(turn, exchange)

    def _add_answer_facts(self, exchange: LoggedExchange) -> None:
        draft, tokens = self.drafts[-1], exchange.tokens
        draft.model = exchange.model if exchange.model != self._default_model else None
        draft.metrics = Metrics(
            prompt_tokens=tokens.input if tokens else 0,
            completion_tokens=tokens.output if tokens else 0,
            cached_tokens=tokens.cached if tokens else 0,
            cost_usd=exchange.cost_usd,
        )

    def _add(self, turn: Message, exchange: LoggedExchange) -> None:
        self.drafts.append(_StepDraft(turn=turn, time=exchange.time.isoformat()))


def _new_messages(turns: Sequence[Message]) -> Sequence[Message]:
    """The turns after the model's last one, and the system's turns, which are always first."""
    spoken = [number for number, turn in enumerate(turns) if turn.speaker is Role.AGENT]
    start = spoken[-1] + 1 if spoken else 0
    system = [turn for turn in turns[:start] if turn.speaker is Role.SYSTEM]
    return [*system, *turns[start:]]
