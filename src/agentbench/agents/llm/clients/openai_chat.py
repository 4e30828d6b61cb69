"""The client of OpenAI's chat completions, which nearly every model server speaks."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import openai

from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.clients.sdk import BASE_URL, http_client, told
from agentbench.agents.llm.conversation import (
    Answer,
    Conversation,
    Stop,
    ToolCall,
    ToolSpec,
    Turn,
)
from agentbench.agents.model_door import ModelDoor, ModelErrorKind, ModelFailure
from agentbench.pytest_results.model import JsonObject

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall

_STOPS = {"length": Stop.CUT_OFF, "content_filter": Stop.REFUSED}
_THOUGHTS = ("reasoning_content", "reasoning_details")
"""Fields that some servers want back with every answer that calls tools, even if empty."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class OpenAIChat:
    """Speaks through a door."""

    def __init__(self, door: ModelDoor) -> None:
        self._model = door.model
        self._ids = count(1)
        self._client = openai.OpenAI(
            api_key=door.token,
            base_url=f"{BASE_URL}/v1",
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
        with told(openai, ModelErrorKind.CONNECTION):
            stream = self._client.chat.completions.create(
                model=self._model,
                messages=cast("Any", list(_messages(conversation))),
                tools=cast("Any", [_shown(tool) for tool in tools]),
                stream=True,
                timeout=timeout.total_seconds(),
            )
        answer = _Answer(self._ids)
        with stream, told(openai, ModelErrorKind.CUT_STREAM):
            for chunk in stream:
                answer.take(chunk)
        return answer.whole()

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def _shown(tool: ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(conversation: Conversation) -> Iterator[JsonObject]:
    yield {"role": "system", "content": conversation.system}
    yield {"role": "user", "content": conversation.opening}
    for turn in conversation.turns:
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[JsonObject]:
    answer = turn.answer
    if answer.tool_calls:
        calls = [_echoed(call) for call in answer.tool_calls]
        said = {"role": "assistant", "content": answer.text or None, "tool_calls": calls}
        yield {**answer.extra, **said}
    elif answer.text:
        yield {"role": "assistant", "content": answer.text}
    for call, reply in zip(answer.tool_calls, turn.replies, strict=True):
        yield {"role": "tool", "tool_call_id": call.id, "content": reply.text}
    if turn.note:
        yield {"role": "user", "content": turn.note}


def _echoed(call: ToolCall) -> JsonObject:
    """A call as servers take it back: some refuse names and arguments that models do write."""
    name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unknown"
    function = {"name": name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
    return {"id": call.id, "type": "function", "function": function, **call.extra}


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: JsonObject = field(default_factory=dict)


class _Answer:
    """An answer as it grows."""

    def __init__(self, ids: "count[int]") -> None:
        self._ids = ids
        self._text: list[str] = []
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._finish: str | None = None
        self._refused = False
        self._extra: JsonObject = {}

    def take(self, chunk: "ChatCompletionChunk") -> None:
        """Add what a chunk brings; servers leave out whatever they have nothing for."""
        for choice in chunk.choices or []:
            self._finish = choice.finish_reason or self._finish
            if choice.delta is not None:
                self._text.append(choice.delta.content or "")
                self._refused = self._refused or bool(choice.delta.refusal)
                self._take_thoughts(choice.delta.model_extra or {})
                for piece in choice.delta.tool_calls or []:
                    self._take_call(piece)

    def whole(self) -> Answer:
        """What came, if it came to its end.

        Raises:
            UnansweredError: it did not.
        """
        if self._finish is None:
            message = "the stream ended before the answer did"
            kind = ModelErrorKind.CUT_STREAM
            raise UnansweredError(ModelFailure(kind=kind, status=None, message=message))
        stop = Stop.REFUSED if self._refused else _STOPS.get(self._finish, Stop.DONE)
        calls = tuple(
            ToolCall(
                id=call.id, name=call.name, arguments="".join(call.arguments), extra=call.extra
            )
            for call in self._calls
        )
        text = "".join(self._text)
        return Answer(text=text, tool_calls=calls, stop=stop, extra=self._extra)

    def _take_thoughts(self, told: JsonObject) -> None:
        for name in _THOUGHTS:
            if name in told:
                piece, known = told[name], self._extra.get(name, "")
                if isinstance(piece, list):
                    known = known if isinstance(known, list) else []
                    self._extra[name] = [*known, *piece]
                elif isinstance(known, str):
                    self._extra[name] = known + str(piece or "")

    def _take_call(self, piece: "ChoiceDeltaToolCall") -> None:
        call = self._call_of(piece)
        if piece.function is not None:
            call.name = call.name or piece.function.name or ""
            call.arguments.append(piece.function.arguments or "")
        call.extra.update(piece.model_extra or {})

    def _call_of(self, piece: "ChoiceDeltaToolCall") -> _Call:
        """The call that a piece belongs to; not every server numbers them."""
        known = self._places.get(piece.index)
        if known is None or (piece.id and piece.id != known.id and known.name):
            known = _Call(id=piece.id or f"call_{next(self._ids)}")
            self._places[piece.index] = known
            self._calls.append(known)
        return known
