"""POST /v1/messages, Anthropic's format: for the gateway, trajectories and the built-in agent."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models import conversation as talk
from agentbench.models.conversation import Message, ModelToolCall, Role, StopReason
from agentbench.models.formats import interface
from agentbench.models.formats.interface import nested_object
from agentbench.models.interface import (
    ApiFormat,
    ModelEndpoint,
    ModelErrorKind,
    TokenCounts,
    token_count,
)
from agentbench.models.model_catalogue import context_window

_ERROR_TYPES = {
    ModelErrorKind.QUOTA: "billing_error",
    ModelErrorKind.AUTH: "authentication_error",
    ModelErrorKind.UNKNOWN_MODEL: "not_found_error",
    ModelErrorKind.MALFORMED: "invalid_request_error",
    ModelErrorKind.CONTEXT_LENGTH: "invalid_request_error",
}
_ROLES = {"assistant": Role.AGENT, "system": Role.SYSTEM}
_STOP_REASONS = {
    "max_tokens": StopReason.CUT_OFF,
    "model_context_window_exceeded": StopReason.CUT_OFF,
    "refusal": StopReason.REFUSED,
}
_THINKING_BLOCKS = {"thinking", "redacted_thinking"}
_BLOCK_FIELDS = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "server_tool_use": ("id", "name", "input"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
"""The blocks of content that an answer may have; all fields but a call's input are text."""
_DELTA_FIELDS = {
    "text": "text",
    "thinking": "thinking",
    "signature": "signature",
    "partial_json": "input",
}
"""The fields of deltas, and the fields of blocks that they extend."""
_CACHE_CONTROL: JsonObject = {"cache_control": {"type": "ephemeral"}}
"""Caches everything up to here."""


class AnthropicMessagesFormat(interface.FormatAdapter):
    """A stream has the input's tokens in its first event, and the output's in its last ones."""

    api_format = ApiFormat.ANTHROPIC_MESSAGES

    def tokens(self, payload: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        # Unlike ours, Anthropic's `input_tokens` excludes cached input.
        usage = nested_object(payload, "message", "usage") or nested_object(payload, "usage")
        if not usage:
            return before
        old = before or TokenCounts()
        written_1h = nested_object(usage, "cache_creation").get("ephemeral_1h_input_tokens")
        cached = _updated_count(usage.get("cache_read_input_tokens"), old.cached)
        written = _updated_count(usage.get("cache_creation_input_tokens"), old.cache_written)
        fresh = _updated_count(
            usage.get("input_tokens"), old.input - old.cached - old.cache_written
        )
        return TokenCounts(
            input=fresh + cached + written,
            output=_updated_count(usage.get("output_tokens"), old.output),
            cached=cached,
            cache_written=written,
            cache_written_1h=_updated_count(written_1h, old.cache_written_1h),
        )

    def ends(self, event: JsonObject) -> bool:
        return event.get("type") == "message_stop"

    def refuses(self, payload: JsonObject) -> bool:
        return "refusal" in {
            payload.get("stop_reason"),
            nested_object(payload, "delta").get("stop_reason"),
        }

    def error(self, event: JsonObject) -> JsonObject | None:
        return event if event.get("type") == "error" else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        del status
        return {
            "type": "error",
            "error": {"type": _ERROR_TYPES.get(kind, "api_error"), "message": message},
        }

    def request_messages(self, body: JsonObject) -> Iterator[Message]:
        if body.get("system"):
            yield Message(speaker=Role.SYSTEM, text=interface.content_text(body.get("system")))
        for message in objects(body.get("messages")):
            speaker = _ROLES.get(text(message.get("role")), Role.USER)
            yield _message(message.get("content"), speaker)

    def answer_message(self, body: JsonObject) -> Message:
        return _message(body.get("content"), Role.AGENT)

    def streamed_message(self, events: Iterable[JsonObject]) -> Message:
        blocks = StreamedMessage(events).blocks.values()
        return _message([block.fields for block in blocks], Role.AGENT)


def _updated_count(value: object, old: int) -> int:
    return old if value is None else token_count(value)


def _message(content: object, speaker: Role) -> Message:
    blocks = list(objects(content))
    return Message(
        speaker=speaker,
        text=interface.content_text(content),
        reasoning="\n".join(filter(None, (text(block.get("thinking")) for block in blocks))),
        calls=tuple(
            talk.ParsedToolCall(
                id=text(block.get("id")),
                name=text(block.get("name")),
                arguments=interface.parse_arguments(block.get("input")),
            )
            for block in blocks
            if _is_block(block, "tool_use")
        ),
        results=tuple(
            talk.ToolResult(
                call_id=text(block.get("tool_use_id")),
                text=interface.tool_result_text(block.get("content")),
            )
            for block in blocks
            if _is_block(block, "tool_result")
        ),
    )


def _is_block(block: JsonObject, kind: str) -> bool:
    # Also server_tool_use.
    return text(block.get("type")).endswith(kind)


class StreamedMessage:
    """The events of a stream, put together in order."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        self.blocks: dict[object, _Block] = {}
        self._stop: object = None
        # Events of unknown kinds are ignored.
        for event in events:
            delta, block = nested_object(event, "delta"), nested_object(event, "content_block")
            kind, index = event.get("type"), event.get("index")
            if kind == "content_block_start" and block.get("type") in _BLOCK_FIELDS:
                self.blocks[index] = _Block(block)
            elif kind == "content_block_delta" and index in self.blocks:
                self.blocks[index].take(delta)
            elif kind == "message_delta":
                self._stop = delta.get("stop_reason") or self._stop

    def answer(self) -> talk.ModelAnswer | None:
        """The complete answer; None if the stream is incomplete.

        Raises:
            UnansweredError: the stream is incomplete.
        """
        if self._stop is None:
            return None
        blocks = list(self.blocks.values())
        thought = any(block.kind in _THINKING_BLOCKS for block in blocks)
        sent = tuple(block.whole for block in blocks if not block.is_empty)
        return talk.ModelAnswer(
            text="".join(block.text("text") for block in blocks),
            tool_calls=tuple(block.call for block in blocks if block.kind == "tool_use"),
            stop=_STOP_REASONS.get(str(self._stop), StopReason.DONE),
            verbatim=sent if thought else (),
        )


class _Block:
    def __init__(self, start: JsonObject) -> None:
        self.kind = str(start.get("type"))
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)
        for name in _BLOCK_FIELDS[self.kind]:
            # An input is only here if it is not streamed in parts.
            initial = start.get(name) or ""
            self._pieces[name].append(initial if isinstance(initial, str) else json.dumps(initial))

    def take(self, delta: JsonObject) -> None:
        """Extend the field that a delta belongs to."""
        for delta_field, name in _DELTA_FIELDS.items():
            if delta_field in delta:
                piece = delta[delta_field]
                self._pieces[name].append(piece if isinstance(piece, str) else json.dumps(piece))

    def text(self, name: str) -> str:
        """The current content of a field."""
        return "".join(self._pieces[name])

    @property
    def call(self) -> ModelToolCall:
        return ModelToolCall(
            id=self.text("id"), name=self.text("name"), arguments=self.text("input")
        )

    @property
    def is_empty(self) -> bool:
        """Whether it is an empty text block, which the API refuses."""
        return self.kind == "text" and not self.text("text")

    @property
    def fields(self) -> JsonObject:
        """Its kind and all fields as text."""
        return {"type": self.kind, **{name: self.text(name) for name in _BLOCK_FIELDS[self.kind]}}

    @property
    def whole(self) -> JsonObject:
        """The block as the provider sent it."""
        parsed = {"input": json_object(self.text("input")) or {}} if "input" in self._pieces else {}
        return {**self.fields, **parsed}


def anthropic_messages_client(endpoint: ModelEndpoint) -> talk.ModelClient:
    """A client over Anthropic's SDK, which is imported only here."""
    import anthropic

    from agentbench.models import sdk_client

    client = anthropic.Anthropic(
        api_key=endpoint.token,
        base_url=sdk_client.BASE_URL,
        max_retries=0,
        http_client=sdk_client.endpoint_http_client(endpoint),
    )

    def send(
        conversation: talk.Conversation, tools: Sequence[talk.ToolSpec], timeout_s: float
    ) -> sdk_client.SdkStream:
        system = {"type": "text", "text": conversation.system, **_CACHE_CONTROL}
        return client.messages.create(
            model=endpoint.model,
            max_tokens=context_window(endpoint.model).output,
            system=cast("Any", [system]),
            messages=cast("Any", _request_messages_of(conversation)),
            tools=cast(
                "Any",
                [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "input_schema": tool.schema,
                    }
                    for tool in tools
                ],
            ),
            stream=True,
            timeout=timeout_s,
        )

    return sdk_client.SdkClient(
        anthropic, send, lambda events: StreamedMessage(events).answer(), client.close
    )


def _request_messages_of(conversation: talk.Conversation) -> list[JsonObject]:
    """The messages of a conversation; the last one ends the cached part."""
    opening: JsonObject = {"type": "text", "text": conversation.opening}
    messages: list[JsonObject] = [{"role": "user", "content": [opening]}]
    last = opening
    for turn in conversation.turns:
        answer = turn.answer
        answer_blocks: list[JsonObject] = list(answer.verbatim)
        # The API refuses blank text.
        if not answer.verbatim and answer.text.strip():
            answer_blocks.append({"type": "text", "text": answer.text})
        for call in answer.tool_calls if not answer.verbatim else ():
            name, arguments = interface.sent_tool_name(call.name), json_object(call.arguments) or {}
            block: JsonObject = {"type": "tool_use", "id": call.id, "name": name}
            answer_blocks.append({**block, "input": arguments})
        reply_blocks: list[JsonObject] = []
        for call, reply in zip(answer.tool_calls, turn.replies, strict=True):
            block = {"type": "tool_result", "tool_use_id": call.id, "content": reply.text}
            reply_blocks.append({**block, "is_error": True} if reply.failed else block)
        if turn.note:
            reply_blocks.append({"type": "text", "text": turn.note})
        messages += [{"role": "assistant", "content": answer_blocks}] if answer_blocks else []
        messages += [{"role": "user", "content": reply_blocks}] if reply_blocks else []
        last = reply_blocks[-1] if reply_blocks else last
    last.update(_CACHE_CONTROL)
    return messages
