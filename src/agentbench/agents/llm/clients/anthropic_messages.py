"""The client of Anthropic's messages."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, cast

import anthropic

from agentbench.agents.llm.clients.anthropic_stream import StreamedMessage, object_of
from agentbench.agents.llm.clients.sdk import BASE_URL, http_client, told
from agentbench.agents.llm.context_windows import context_window
from agentbench.agents.llm.conversation import Answer, Conversation, ToolSpec, Turn
from agentbench.agents.model_door import ModelDoor, ModelErrorKind
from agentbench.pytest_results.model import JsonObject

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
        answer = StreamedMessage()
        with stream, told(anthropic, ModelErrorKind.CUT_STREAM):
            for event in stream:
                answer.take(event.to_dict(warnings=False))
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
    if answer.verbatim:
        yield from answer.verbatim
        return
    if answer.text.strip():  # text of white space alone is refused
        yield {"type": "text", "text": answer.text}
    for call in answer.tool_calls:
        name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unknown"
        given = object_of(call.arguments)
        yield {"type": "tool_use", "id": call.id, "name": name, "input": given}


def _back(turn: Turn) -> Iterator[JsonObject]:
    for call, reply in zip(turn.answer.tool_calls, turn.replies, strict=True):
        result: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": reply.text}
        yield {**result, "is_error": True} if reply.failed else result
    if turn.note:
        yield {"type": "text", "text": turn.note}
