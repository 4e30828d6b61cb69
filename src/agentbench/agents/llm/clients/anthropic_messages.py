"""The client of Anthropic's messages."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import anthropic

from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.clients.sdk import BASE_URL, http_client, told
from agentbench.agents.llm.context_windows import context_window
from agentbench.agents.llm.conversation import Answer, Conversation, Stop, ToolCall, ToolSpec, Turn
from agentbench.agents.model_door import ModelDoor, ModelErrorKind, ModelFailure
from agentbench.pytest_results.model import JsonObject

if TYPE_CHECKING:
    from anthropic.types import RawMessageStreamEvent

_STOPS = {
    "max_tokens": Stop.CUT_OFF,
    "model_context_window_exceeded": Stop.CUT_OFF,
    "refusal": Stop.REFUSED,
}
_CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}  # up to here, the next time
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class AnthropicMessages:
    """Speaks through a door."""

    def __init__(self, door: ModelDoor) -> None:
        self._model = door.model
        self._most = context_window(door.model).output
        self._client = anthropic.Anthropic(
            api_key=door.token,
            base_url=BASE_URL,
            max_retries=0,
            http_client=http_client(door),
        )

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> Answer:
        """The model's answer, read as it is streamed.

        Raises:
            UnansweredError: there is none, or not a whole one.
        """
        with told(anthropic, ModelErrorKind.CONNECTION):
            stream = self._client.messages.create(
                model=self._model,
                max_tokens=self._most,
                system=cast("Any", [{"type": "text", "text": conversation.system, **_CACHED}]),
                messages=cast("Any", _messages(conversation)),
                tools=cast("Any", [_shown(tool) for tool in tools]),
                stream=True,
                timeout=timeout.total_seconds(),
            )
        answer = _Answer()
        with stream, told(anthropic, ModelErrorKind.CUT_STREAM):
            for event in stream:
                answer.take(event)
        return answer.whole()

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def _shown(tool: ToolSpec) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _messages(conversation: Conversation) -> list[JsonObject]:
    """The conversation; what stands last is where a cache may end."""
    opening: JsonObject = {"type": "text", "text": conversation.opening}
    messages: list[JsonObject] = [{"role": "user", "content": [opening]}]
    last = opening
    for turn in conversation.turns:
        said, back = list(_said(turn.answer)), list(_back(turn))
        messages += [{"role": "assistant", "content": said}] if said else []
        messages += [{"role": "user", "content": back}] if back else []
        last = back[-1] if back else last
    last.update(_CACHED)
    return messages


def _said(answer: Answer) -> Iterator[JsonObject]:
    if answer.text.strip():  # text of white space alone is refused
        yield {"type": "text", "text": answer.text}
    for call in answer.tool_calls:
        name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unknown"
        given = _as_object(call.arguments)
        yield {"type": "tool_use", "id": call.id, "name": name, "input": given}


def _back(turn: Turn) -> Iterator[JsonObject]:
    for call, reply in zip(turn.answer.tool_calls, turn.replies, strict=True):
        result: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": reply.text}
        yield {**result, "is_error": True} if reply.failed else result
    if turn.note:
        yield {"type": "text", "text": turn.note}


def _as_object(arguments: str) -> JsonObject:
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class _Block:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)


class _Answer:
    """An answer as it grows."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, _Block] = {}
        self._stop: str | None = None

    def take(self, event: "RawMessageStreamEvent") -> None:
        """Add what an event brings."""
        if event.type == "content_block_start":
            block = event.content_block
            if block.type == "tool_use":
                whole = [json.dumps(block.input)] if block.input else []  # not in pieces, then
                self._calls[event.index] = _Block(block.id, block.name, whole)
            elif block.type == "text":
                self._text.append(block.text)
        elif event.type == "content_block_delta":
            if event.delta.type == "text_delta":
                self._text.append(event.delta.text)
            elif event.delta.type == "input_json_delta":
                self._calls[event.index].arguments.append(event.delta.partial_json)
        elif event.type == "message_delta":
            self._stop = event.delta.stop_reason or self._stop

    def whole(self) -> Answer:
        """What came, if it came to its end.

        Raises:
            UnansweredError: it did not.
        """
        if self._stop is None:
            message = "the stream ended before the answer did"
            kind = ModelErrorKind.CUT_STREAM
            raise UnansweredError(ModelFailure(kind=kind, status=None, message=message))
        calls = tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.arguments))
            for _, call in sorted(self._calls.items())
        )
        stop = _STOPS.get(self._stop, Stop.DONE)
        return Answer(text="".join(self._text), tool_calls=calls, stop=stop)
