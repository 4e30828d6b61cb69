"""Conversations in the chat format of trainers: roles, tool calls and their results."""

import json
from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from agentbench.core.schema import JsonObject, Schema
from agentbench.models.conversation import Message, Role

_ARGUMENTS: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class ChatFunction(Schema):
    """The function of a call."""

    name: str
    """The name of the tool."""
    arguments: dict[str, JsonValue]
    """Its arguments as an object."""


class ChatCall(Schema):
    """A call of a tool."""

    id: str
    """The id that the tool's message repeats."""
    type: Literal["function"] = "function"
    """The kind of tool."""
    function: ChatFunction
    """What is called."""


class ChatMessage(Schema):
    """One message of a chat. In JSON, fields without a value are left out."""

    role: Literal["system", "user", "assistant", "tool"]
    """The author of the message."""
    content: str
    """The text; empty if the message has calls only."""
    reasoning_content: str | None = None
    """The model's reasoning, if its provider shows it."""
    tool_calls: tuple[ChatCall, ...] | None = None
    """The calls of an assistant's message."""
    tool_call_id: str | None = None
    """The call that a tool's message answers."""


def chat_messages(messages: Iterable[Message]) -> tuple[ChatMessage, ...]:
    """Messages in the chat format; consecutive parts of one answer are one message."""
    merged: list[ChatMessage] = []
    for message in messages:
        for each in _chat(message):
            if each.role == "assistant" and merged and merged[-1].role == "assistant":
                first = merged[-1]
                reasoning = filter(None, (first.reasoning_content, each.reasoning_content))
                merged[-1] = ChatMessage(
                    role="assistant",
                    content="\n".join(filter(None, (first.content, each.content))),
                    reasoning_content="\n".join(reasoning) or None,
                    tool_calls=((first.tool_calls or ()) + (each.tool_calls or ())) or None,
                )
            else:
                merged.append(each)
    return tuple(merged)


def opening_length(messages: Iterable[ChatMessage]) -> int:
    """The number of messages before the model's first one."""
    roles = [message.role for message in messages]
    return roles.index("assistant") if "assistant" in roles else len(roles)


def patch_chat(instruction: str, patch: str) -> tuple[ChatMessage, ...]:
    """An attempt without a conversation: the task's instruction, answered by the patch."""
    return (
        ChatMessage(role="user", content=instruction),
        ChatMessage(role="assistant", content=patch),
    )


def tools_text(tools: Iterable[JsonObject]) -> str | None:
    """The tools as JSON, which trainers read from a text; None without any."""
    written = json.dumps(list(tools), ensure_ascii=False)
    return None if written == "[]" else written


def _chat(message: Message) -> Iterator[ChatMessage]:
    if message.speaker is Role.AGENT:
        yield ChatMessage(
            role="assistant",
            content=message.text,
            reasoning_content=message.reasoning or None,
            tool_calls=tuple(
                ChatCall(
                    id=call.id,
                    function=ChatFunction(
                        name=call.name, arguments=_ARGUMENTS.validate_python(call.arguments)
                    ),
                )
                for call in message.calls
            )
            or None,
        )
        return
    for result in message.results:
        yield ChatMessage(role="tool", content=result.text, tool_call_id=result.call_id or None)
    if message.text or not message.results:
        yield ChatMessage(
            role="system" if message.speaker is Role.SYSTEM else "user", content=message.text
        )
