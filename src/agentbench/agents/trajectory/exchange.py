"""One request to a model and what came back, as the door's log tells it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from agentbench.agents.model_door import ModelFailure, Usage, Wire
from agentbench.agents.trajectory import (
    anthropic_messages,
    gemini_generate,
    openai_chat,
    openai_responses,
)
from agentbench.agents.trajectory.conversation import Turn
from agentbench.agents.trajectory.pieces import events
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import json_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its end."""

    time: str  # ISO 8601, when it arrived
    wire: Wire
    model: str
    request: JsonObject
    answer: str = ""  # the body: JSON, or a stream of server-sent events
    usage: Usage = field(default_factory=Usage)
    failure: ModelFailure | None = None


def asked(exchange: Exchange) -> list[Turn]:
    """The conversation that the request carries."""
    return list(_READERS[exchange.wire].request(exchange.request))


def answered(exchange: Exchange) -> Turn:
    """What the model said."""
    reader = _READERS[exchange.wire]
    body = json_object(exchange.answer)
    return reader.streamed(events(exchange.answer)) if body is None else reader.whole(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """How one wire is read."""

    request: Callable[[JsonObject], Iterator[Turn]]
    whole: Callable[[JsonObject], Turn]
    streamed: Callable[[Iterable[JsonObject]], Turn]


_READERS = {
    Wire.OPENAI_CHAT: _Reader(
        request=openai_chat.request_turns,
        whole=openai_chat.answer_turn,
        streamed=openai_chat.streamed_turn,
    ),
    Wire.OPENAI_RESPONSES: _Reader(
        request=openai_responses.request_turns,
        whole=openai_responses.answer_turn,
        streamed=openai_responses.streamed_turn,
    ),
    Wire.ANTHROPIC_MESSAGES: _Reader(
        request=anthropic_messages.request_turns,
        whole=anthropic_messages.answer_turn,
        streamed=anthropic_messages.streamed_turn,
    ),
    Wire.GEMINI_GENERATE: _Reader(
        request=gemini_generate.request_turns,
        whole=gemini_generate.answer_turn,
        streamed=gemini_generate.streamed_turn,
    ),
}
