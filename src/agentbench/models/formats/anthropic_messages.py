"""POST /v1/messages, Anthropic's format: for the gateway, trajectories and the built-in agent."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, cast

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
from agentbench.models.conversation import (
    Conversation,
    ConversationTurn,
    Message,
    ModelAnswer,
    ModelToolCall,
    ParsedToolCall,
    Role,
    StopReason,
    ToolResult,
    ToolSpec,
    UnansweredError,
)
from agentbench.models.formats.interface import (
    TokensInStream,
    content_text,
    nested_object,
    parse_arguments,
    tool_result_text,
)
from agentbench.models.interface import (
    ApiFormat,
    ModelEndpoint,
    ModelErrorKind,
    ModelFailure,
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


class AnthropicMessagesFormat(TokensInStream):
    """A stream has the input's tokens in its first event, and the output's in its last ones."""

    api_format = ApiFormat.ANTHROPIC_MESSAGES
    quota_status = 403

    def tokens(self, said: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """The tokens; unlike ours, Anthropic's `input_tokens` excludes cached input."""
        usage = nested_object(said, "message", "usage") or nested_object(said, "usage")
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
        """Whether this is the last event."""
        return event.get("type") == "message_stop"

    def refuses(self, said: JsonObject) -> bool:
        """Whether the reason to stop is a refusal."""
        return "refusal" in {
            said.get("stop_reason"),
            nested_object(said, "delta").get("stop_reason"),
        }

    def error(self, event: JsonObject) -> JsonObject | None:
        """The body of an `error` event."""
        return event if event.get("type") == "error" else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """An error body in Anthropic's form."""
        del status
        return {
            "type": "error",
            "error": {"type": _ERROR_TYPES.get(kind, "api_error"), "message": message},
        }


def _updated_count(value: object, old: int) -> int:
    return old if value is None else token_count(value)


_ROLES = {"assistant": Role.AGENT, "system": Role.SYSTEM}


def request_messages(body: JsonObject) -> Iterator[Message]:
    """The conversation in a request."""
    if body.get("system"):
        yield Message(speaker=Role.SYSTEM, text=content_text(body.get("system")))
    for message in objects(body.get("messages")):
        speaker = _ROLES.get(text(message.get("role")), Role.USER)
        yield _message(message.get("content"), speaker)


def answer_message(body: JsonObject) -> Message:
    """The model's answer as a message."""
    return _message(body.get("content"), Role.AGENT)


def streamed_message(events: Iterable[JsonObject]) -> Message:
    """The model's answer from a stream, in which blocks grow by deltas."""
    blocks: dict[object, dict[str, str]] = {}
    for event in events:
        opened, delta = event.get("content_block"), event.get("delta")
        if isinstance(opened, dict):
            blocks[event.get("index")] = _started_block(opened)
        elif isinstance(delta, dict) and event.get("index") in blocks:
            block = blocks[event.get("index")]
            block["text"] += text(delta.get("text"))
            block["thinking"] += text(delta.get("thinking"))
            block["input"] += text(delta.get("partial_json"))
    return _message(list(blocks.values()), Role.AGENT)


def _started_block(block: JsonObject) -> dict[str, str]:
    kept = {name: text(block.get(name)) for name in ("type", "id", "name", "text", "thinking")}
    return {**kept, "input": ""}


def _message(content: object, speaker: Role) -> Message:
    blocks = list(objects(content))
    return Message(
        speaker=speaker,
        text=content_text(content),
        reasoning="\n".join(filter(None, (text(block.get("thinking")) for block in blocks))),
        calls=tuple(_tool_call(block) for block in blocks if _is_block(block, "tool_use")),
        results=tuple(_tool_result(block) for block in blocks if _is_block(block, "tool_result")),
    )


def _is_block(block: JsonObject, kind: str) -> bool:
    return text(block.get("type")).endswith(kind)  # also server_tool_use


def _tool_call(block: JsonObject) -> ParsedToolCall:
    return ParsedToolCall(
        id=text(block.get("id")),
        name=text(block.get("name")),
        arguments=parse_arguments(block.get("input")),
    )


def _tool_result(block: JsonObject) -> ToolResult:
    return ToolResult(
        call_id=text(block.get("tool_use_id")), text=tool_result_text(block.get("content"))
    )


_STOP_REASONS = {
    "max_tokens": StopReason.CUT_OFF,
    "model_context_window_exceeded": StopReason.CUT_OFF,
    "refusal": StopReason.REFUSED,
}
_THINKING_BLOCKS = {"thinking", "redacted_thinking"}
_BLOCK_FIELDS = {
    "text": ("text",),
    "tool_use": ("id", "name"),
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


def _parsed_object(arguments: str) -> JsonObject:
    """The arguments of a call; empty if they are not an object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class StreamedMessage:
    """Collects the events of a stream in order."""

    def __init__(self) -> None:
        self._blocks: dict[object, _Block] = {}
        self._stop: object = None

    def add_event(self, event: JsonObject) -> None:
        """Add an event; unknown kinds are ignored."""
        delta, block = nested_object(event, "delta"), nested_object(event, "content_block")
        if event.get("type") == "content_block_start" and block.get("type") in _BLOCK_FIELDS:
            self._blocks[event.get("index")] = _Block(block)
        elif event.get("type") == "content_block_delta" and event.get("index") in self._blocks:
            self._blocks[event.get("index")].take(delta)
        elif event.get("type") == "message_delta":
            self._stop = delta.get("stop_reason") or self._stop

    def answer(self) -> ModelAnswer:
        """The complete answer."""
        if self._stop is None:
            message = "the stream ended before the answer did"
            kind = ModelErrorKind.CUT_STREAM
            raise UnansweredError(ModelFailure(kind=kind, status=None, message=message))
        blocks = list(self._blocks.values())
        thought = any(block.kind in _THINKING_BLOCKS for block in blocks)
        return ModelAnswer(
            text="".join(block.text("text") for block in blocks),
            tool_calls=tuple(block.call for block in blocks if block.kind == "tool_use"),
            stop=_STOP_REASONS.get(str(self._stop), StopReason.DONE),
            verbatim=tuple(block.whole for block in blocks if not block.is_empty)
            if thought
            else (),
        )


class _Block:
    def __init__(self, start: JsonObject) -> None:
        self.kind = str(start.get("type"))
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)
        for name in _BLOCK_FIELDS[self.kind]:
            self._pieces[name].append(str(start.get(name) or ""))
        if start.get("input"):  # then it is not streamed in parts
            self._pieces["input"].append(json.dumps(start["input"]))

    def take(self, delta: JsonObject) -> None:
        for told, name in _DELTA_FIELDS.items():
            if told in delta:
                self._pieces[name].append(str(delta[told]))

    def text(self, name: str) -> str:
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
    def whole(self) -> JsonObject:
        told: JsonObject = {name: self.text(name) for name in _BLOCK_FIELDS[self.kind]}
        given = {"input": _parsed_object(self.text("input"))} if self.kind == "tool_use" else {}
        return {"type": self.kind, **told, **given}


_CACHE_CONTROL: JsonObject = {
    "cache_control": {"type": "ephemeral"}
}  # caches everything up to here
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


class AnthropicMessagesClient:
    """Sends conversations to a model endpoint with the SDK, which is imported only here."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        import anthropic

        from agentbench.models.sdk_client import BASE_URL, endpoint_http_client, library_errors

        self._errors = partial(library_errors, anthropic)
        self._model = endpoint.model
        self._most = context_window(endpoint.model).output
        self._client = anthropic.Anthropic(
            api_key=endpoint.token,
            base_url=BASE_URL,
            max_retries=0,
            http_client=endpoint_http_client(endpoint),
        )

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> ModelAnswer:
        """The model's answer, read from a stream."""
        with self._errors(ModelErrorKind.CONNECTION):
            stream = self._client.messages.create(
                model=self._model,
                max_tokens=self._most,
                system=cast(
                    "Any", [{"type": "text", "text": conversation.system, **_CACHE_CONTROL}]
                ),
                messages=cast("Any", _request_messages_of(conversation)),
                tools=cast("Any", [_tool_definition(tool) for tool in tools]),
                stream=True,
                timeout=timeout.total_seconds(),
            )
        answer = StreamedMessage()
        with stream, self._errors(ModelErrorKind.CUT_STREAM):
            for event in stream:
                answer.add_event(event.to_dict(warnings=False))
        return answer.answer()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _tool_definition(tool: ToolSpec) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _request_messages_of(conversation: Conversation) -> list[JsonObject]:
    """The messages of a conversation; the last one ends the cached part."""
    opening: JsonObject = {"type": "text", "text": conversation.opening}
    messages: list[JsonObject] = [{"role": "user", "content": [opening]}]
    last = opening
    for turn in conversation.turns:
        said, back = list(_answer_blocks(turn.answer)), list(_reply_blocks(turn))
        messages += [{"role": "assistant", "content": said}] if said else []
        messages += [{"role": "user", "content": back}] if back else []
        last = back[-1] if back else last
    last.update(_CACHE_CONTROL)
    return messages


def _answer_blocks(answer: ModelAnswer) -> Iterator[JsonObject]:
    if answer.verbatim:
        yield from answer.verbatim
        return
    if answer.text.strip():  # the API refuses blank text
        yield {"type": "text", "text": answer.text}
    for call in answer.tool_calls:
        name = _INVALID_IN_NAME.sub("_", call.name)[:64] or "unknown"
        given = _parsed_object(call.arguments)
        yield {"type": "tool_use", "id": call.id, "name": name, "input": given}


def _reply_blocks(turn: ConversationTurn) -> Iterator[JsonObject]:
    for call, reply in zip(turn.answer.tool_calls, turn.replies, strict=True):
        result: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": reply.text}
        yield {**result, "is_error": True} if reply.failed else result
    if turn.note:
        yield {"type": "text", "text": turn.note}
