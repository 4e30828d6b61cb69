"""Creates a trajectory from the log of an attempt's exchanges with its model.

A client sends the whole conversation with each request. The new part follows the model's last
message in it. A conversation without such a message is a new one, of which only unseen messages are
added. This also works for agents that shorten their context, retry, or start other agents.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object
from agentbench.models import atif
from agentbench.models.conversation import Message, Role, ToolResult
from agentbench.models.formats import (
    anthropic_messages,
    gemini_generate,
    openai_chat,
    openai_responses,
)
from agentbench.models.formats.interface import stream_events
from agentbench.models.gateway.exchange_log import LoggedExchange, read_exchanges
from agentbench.models.interface import ApiFormat, ModelFailure, ModelUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryExchange:
    """One request and its result."""

    time: str  # ISO 8601, when it arrived
    wire: ApiFormat
    model: str
    request: JsonObject
    answer: str = ""  # the body: JSON, or a stream of server-sent events
    usage: ModelUsage = field(default_factory=ModelUsage)
    failure: ModelFailure | None = None


def request_messages(exchange: TrajectoryExchange) -> list[Message]:
    """The conversation in the request."""
    return list(_READERS[exchange.wire].request(exchange.request))


def answer_message(exchange: TrajectoryExchange) -> Message:
    """The model's answer."""
    reader = _READERS[exchange.wire]
    body = json_object(exchange.answer)
    return reader.streamed(stream_events(exchange.answer)) if body is None else reader.whole(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FormatReader:
    request: Callable[[JsonObject], Iterator[Message]]
    whole: Callable[[JsonObject], Message]
    streamed: Callable[[Iterable[JsonObject]], Message]


_READERS = {
    ApiFormat.OPENAI_CHAT: _FormatReader(
        request=openai_chat.request_messages,
        whole=openai_chat.answer_message,
        streamed=openai_chat.streamed_message,
    ),
    ApiFormat.OPENAI_RESPONSES: _FormatReader(
        request=openai_responses.request_messages,
        whole=openai_responses.answer_message,
        streamed=openai_responses.streamed_message,
    ),
    ApiFormat.ANTHROPIC_MESSAGES: _FormatReader(
        request=anthropic_messages.request_messages,
        whole=anthropic_messages.answer_message,
        streamed=anthropic_messages.streamed_message,
    ),
    ApiFormat.GEMINI_GENERATE: _FormatReader(
        request=gemini_generate.request_messages,
        whole=gemini_generate.answer_message,
        streamed=gemini_generate.streamed_message,
    ),
}


def logged_exchanges(log: Path) -> Iterator[TrajectoryExchange]:
    """The exchanges in the order of the log, without those that only count tokens."""
    for logged in sorted(read_exchanges(log), key=lambda logged: logged.time):
        if not logged.counts_only:
            yield _trajectory_exchange(logged)


def _trajectory_exchange(logged: LoggedExchange) -> TrajectoryExchange:
    tokens, failure = logged.tokens, None
    if logged.error is not None:
        failure = ModelFailure(kind=logged.error, status=logged.status, message=logged.message)
    return TrajectoryExchange(
        time=logged.time.isoformat(),
        wire=logged.wire,
        model=logged.model,
        request=logged.request,
        answer=logged.answer,
        usage=ModelUsage(
            requests=1,
            input_tokens=tokens.input if tokens else 0,
            output_tokens=tokens.output if tokens else 0,
            cached_tokens=tokens.cached if tokens else 0,
            cost_usd=logged.cost_usd,
        ),
        failure=failure,
    )


def build_trajectory(
    exchanges: Iterable[TrajectoryExchange],
    *,
    agent: atif.TrajectoryAgent,
    session: str,
    usage: ModelUsage,
) -> atif.Trajectory | None:
    """The trajectory of an attempt; None if it is empty."""
    teller = _TrajectoryBuilder(default_model=agent.model_name)
    for exchange in exchanges:
        teller.add(exchange)
    if not teller.drafts:
        return None
    steps = tuple(draft.step(number) for number, draft in enumerate(teller.drafts, start=1))
    return atif.Trajectory(
        session_id=session,
        agent=agent,
        steps=steps,
        final_metrics=atif.FinalMetrics(
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

    source: atif.StepSource
    turn: Message
    time: str
    model: str | None = None
    metrics: atif.Metrics | None = None
    error: str | None = None
    results: list[ToolResult] = field(default_factory=list)

    def waits_for(self, result: ToolResult) -> bool:
        asked_for = sum(call.id == result.call_id for call in self.turn.calls)
        return asked_for > sum(known.call_id == result.call_id for known in self.results)

    def step(self, number: int) -> atif.Step:
        is_agent = self.source is atif.StepSource.AGENT
        calls = tuple(
            atif.ToolCall(tool_call_id=c.id, function_name=c.name, arguments=dict(c.arguments))
            for c in self.turn.calls
        )
        results = tuple(
            atif.ObservationResult(source_call_id=r.call_id or None, content=r.text)
            for r in self.results
        )
        return atif.Step(
            step_id=number,
            timestamp=self.time,
            source=self.source,
            model_name=self.model,
            message=self.turn.text,
            reasoning_content=self.turn.reasoning or None if is_agent else None,
            tool_calls=calls or None if is_agent else None,
            observation=atif.Observation(results=results) if results else None,
            metrics=self.metrics,
            llm_call_count=1 if is_agent else None,
            extra={"model_error": self.error} if self.error is not None else None,
        )


class _TrajectoryBuilder:
    def __init__(self, *, default_model: str | None) -> None:
        self.drafts: list[_StepDraft] = []
        self._default_model = default_model
        self._said: set[tuple[Role, str]] = set()  # in all conversations
        self._since_answer: set[tuple[Role, str]] = set()

    def add(self, exchange: TrajectoryExchange) -> None:
        turns = request_messages(exchange)
        goes_on = any(turn.speaker is Role.AGENT for turn in turns)
        for turn in _new_messages(turns):
            self._add_message(turn, exchange.time, goes_on=goes_on)
        if exchange.failure is not None:
            failure = exchange.failure
            status = f"HTTP {failure.status}" if failure.status is not None else "no answer"
            text = f"the model did not answer: {failure.kind}, {status}: {failure.message}"
            self._add(
                atif.StepSource.SYSTEM, Message(speaker=Role.SYSTEM, text=text), exchange.time
            )
            self.drafts[-1].error = failure.kind
        else:
            self._answer(exchange)

    def _add_message(self, turn: Message, time: str, *, goes_on: bool) -> None:
        for result in turn.results:
            waiting = (draft for draft in reversed(self.drafts) if draft.waits_for(result))
            draft = next(waiting, None)
            if draft is not None:
                draft.results.append(result)
        said = (turn.speaker, turn.text)
        may_recur = goes_on and turn.speaker is Role.USER  # a user may say "go on" twice
        known = self._since_answer if may_recur else self._said
        if turn.text and said not in known:
            self._said.add(said)
            self._since_answer.add(said)
            source = atif.StepSource.SYSTEM if turn.speaker is Role.SYSTEM else atif.StepSource.USER
            self._add(source, turn, time)

    def _answer(self, exchange: TrajectoryExchange) -> None:
        self._add(atif.StepSource.AGENT, answer_message(exchange), exchange.time)
        self._since_answer.clear()
        draft, usage = self.drafts[-1], exchange.usage
        draft.model = exchange.model if exchange.model != self._default_model else None
        draft.metrics = atif.Metrics(
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )

    def _add(self, source: atif.StepSource, turn: Message, time: str) -> None:
        self.drafts.append(_StepDraft(source=source, turn=turn, time=time))


def _new_messages(turns: Sequence[Message]) -> Sequence[Message]:
    """The turns after the model's last one, and the system's turns, which are always first."""
    spoken = [number for number, turn in enumerate(turns) if turn.speaker is Role.AGENT]
    start = spoken[-1] + 1 if spoken else 0
    system = [turn for turn in turns[:start] if turn.speaker is Role.SYSTEM]
    return [*system, *turns[start:]]
