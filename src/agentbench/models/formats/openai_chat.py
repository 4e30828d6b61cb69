"""POST /v1/chat/completions, OpenAI's format: for the gateway, trajectories and the agent."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
from agentbench.models.conversation import (
    Conversation,
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
    content_text,
    first_object,
    nested_object,
    parse_arguments,
)
from agentbench.models.interface import (
    ApiFormat,
    ModelEndpoint,
    ModelErrorKind,
    ModelFailure,
    TokenCounts,
    token_count,
)

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk


_ERROR_TYPES_AND_CODES = {
    ModelErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    ModelErrorKind.AUTH: ("invalid_request_error", "invalid_api_key"),
    ModelErrorKind.UNKNOWN_MODEL: ("invalid_request_error", "model_not_found"),
    ModelErrorKind.MALFORMED: ("invalid_request_error", None),
    ModelErrorKind.CONTEXT_LENGTH: ("invalid_request_error", "context_length_exceeded"),
}


def openai_error(kind: ModelErrorKind, message: str) -> JsonObject:
    """The body of an error."""
    family, code = _ERROR_TYPES_AND_CODES.get(kind, ("server_error", kind.value))
    return {"error": {"message": message, "type": family, "param": None, "code": code}}


class OpenAIChatFormat:
    """A stream reports tokens only on request, in a last event without choices."""

    api_format = ApiFormat.OPENAI_CHAT
    quota_status = 403

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request with the option that makes a stream report tokens."""
        options = nested_object(request, "stream_options")
        if not request.get("stream") or options.get("include_usage"):
            return None
        return {**request, "stream_options": {**options, "include_usage": True}}

    def is_extra(self, event: JsonObject) -> bool:
        """Whether the event has tokens and no choices."""
        return event.get("choices") == [] and bool(nested_object(event, "usage"))

    def tokens(self, said: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """The tokens in `usage`."""
        usage = nested_object(said, "usage")
        if not usage:
            return before
        details = nested_object(usage, "prompt_tokens_details")
        return TokenCounts(
            input=token_count(usage.get("prompt_tokens")),
            output=token_count(usage.get("completion_tokens")),
            cached=token_count(details.get("cached_tokens")),
            cache_written=token_count(details.get("cache_write_tokens")),
        )

    def ends(self, event: JsonObject) -> bool:
        """Whether the event has a finish reason; some servers omit the `[DONE]` after it."""
        return first_object(event, "choices").get("finish_reason") is not None

    def refuses(self, said: JsonObject) -> bool:
        """Whether a filter stopped the answer, or the model refused."""
        choice = first_object(said, "choices")
        filtered = choice.get("finish_reason") == "content_filter"
        said_no = (nested_object(choice, part).get("refusal") for part in ("message", "delta"))
        return filtered or any(said_no)

    def error(self, event: JsonObject) -> JsonObject | None:
        """An error in place of a chunk."""
        return event if event.get("error") else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """An error body in OpenAI's form."""
        del status
        return openai_error(kind, message)


_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "assistant": Role.AGENT,
}


def request_messages(body: JsonObject) -> Iterator[Message]:
    """The conversation in a request."""
    for message in objects(body.get("messages")):
        if message.get("role") == "tool":
            answer = ToolResult(
                call_id=text(message.get("tool_call_id")), text=content_text(message.get("content"))
            )
            yield Message(speaker=Role.USER, results=(answer,))
        else:
            yield _message(message, _ROLES.get(text(message.get("role")), Role.USER))


def answer_message(body: JsonObject) -> Message:
    """The model's answer as a message."""
    for choice in objects(body.get("choices")):
        message = choice.get("message")
        return _message(message if isinstance(message, dict) else {}, Role.AGENT)
    return Message(speaker=Role.AGENT)


def streamed_message(events: Iterable[JsonObject]) -> Message:
    """The model's answer from a stream."""
    spoken, thought = "", ""
    calls: dict[object, _GrowingToolCall] = {}
    for event in events:
        for choice in objects(event.get("choices")):
            found = choice.get("delta")
            delta: JsonObject = found if isinstance(found, dict) else {}
            spoken += text(delta.get("content"))
            thought += text(_reasoning(delta))
            for part in objects(delta.get("tool_calls")):
                calls.setdefault(part.get("index", 0), _GrowingToolCall()).add(part)
    return Message(
        speaker=Role.AGENT,
        text=spoken,
        reasoning=thought,
        calls=tuple(call.whole() for call in calls.values()),
    )


class _GrowingToolCall:
    def __init__(self) -> None:
        self._id = self._name = self._arguments = ""

    def add(self, part: JsonObject) -> None:
        found = part.get("function")
        function: JsonObject = found if isinstance(found, dict) else {}
        self._id = self._id or text(part.get("id"))
        self._name = self._name or text(function.get("name"))
        self._arguments += text(function.get("arguments"))

    def whole(self) -> ParsedToolCall:
        return ParsedToolCall(
            id=self._id, name=self._name, arguments=parse_arguments(self._arguments)
        )


def _message(message: JsonObject, speaker: Role) -> Message:
    return Message(
        speaker=speaker,
        text=content_text(message.get("content")) or text(message.get("refusal")),
        reasoning=text(_reasoning(message)),
        calls=tuple(_calls(message)),
    )


def _reasoning(message: JsonObject) -> object:
    return message.get("reasoning_content") or message.get("reasoning")


def _calls(message: JsonObject) -> Iterator[ParsedToolCall]:
    for call in objects(message.get("tool_calls")):
        growing = _GrowingToolCall()
        growing.add(call)
        yield growing.whole()


_STOP_REASONS = {"length": StopReason.CUT_OFF, "content_filter": StopReason.REFUSED}
_REASONING_FIELDS = ("reasoning_content", "reasoning_details")
"""Fields that some servers require back with every answer that calls tools, even if empty."""

_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


class OpenAIChatClient:
    """Sends conversations to a model endpoint with the SDK, which is imported only here."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        import openai

        from agentbench.models.sdk_client import BASE_URL, endpoint_http_client, library_errors

        self._errors = partial(library_errors, openai)
        self._model = endpoint.model
        self._ids = count(1)
        self._client = openai.OpenAI(
            api_key=endpoint.token,
            base_url=f"{BASE_URL}/v1",
            max_retries=0,
            http_client=endpoint_http_client(endpoint),
        )

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> ModelAnswer:
        """The model's answer, read from a stream."""
        with self._errors(ModelErrorKind.CONNECTION):
            stream = self._client.chat.completions.create(
                model=self._model,
                messages=cast("Any", list(_request_messages_of(conversation))),
                tools=cast("Any", [_tool_definition(tool) for tool in tools]),
                stream=True,
                timeout=timeout.total_seconds(),
            )
        answer = _StreamedAnswer(self._ids)
        with stream, self._errors(ModelErrorKind.CUT_STREAM):
            for chunk in stream:
                answer.take(chunk)
        return answer.whole()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _tool_definition(tool: ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _request_messages_of(conversation: Conversation) -> Iterator[JsonObject]:
    yield {"role": "system", "content": conversation.system}
    yield {"role": "user", "content": conversation.opening}
    for turn in conversation.turns:
        answer = turn.answer
        if answer.tool_calls:
            calls = [_echoed_tool_call(call) for call in answer.tool_calls]
            said = {"role": "assistant", "content": answer.text or None, "tool_calls": calls}
            yield {**answer.extra, **said}
        elif answer.text:
            yield {"role": "assistant", "content": answer.text}
        for call, reply in zip(answer.tool_calls, turn.replies, strict=True):
            yield {"role": "tool", "tool_call_id": call.id, "content": reply.text}
        if turn.note:
            yield {"role": "user", "content": turn.note}


def _echoed_tool_call(call: ModelToolCall) -> JsonObject:
    """A call in a form that all servers accept back, even if the model wrote it wrong."""
    name = _INVALID_IN_NAME.sub("_", call.name)[:64] or "unknown"
    function = {"name": name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
    return {"id": call.id, "type": "function", "function": function, **call.extra}


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(slots=True)
class _StreamedToolCall:
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: JsonObject = field(default_factory=dict)


class _StreamedAnswer:
    """Collects the chunks of an answer."""

    def __init__(self, ids: "count[int]") -> None:
        self._ids = ids
        self._text: list[str] = []
        self._calls: list[_StreamedToolCall] = []
        self._places: dict[int, _StreamedToolCall] = {}
        self._finish: str | None = None
        self._refused = False
        self._extra: JsonObject = {}

    def take(self, chunk: "ChatCompletionChunk") -> None:
        """Add a chunk; servers omit fields without a value."""
        for choice in chunk.choices or []:
            self._finish = choice.finish_reason or self._finish
            if choice.delta is not None:
                self._text.append(choice.delta.content or "")
                self._refused = self._refused or bool(choice.delta.refusal)
                self._take_thoughts(choice.delta.model_extra or {})
                for piece in choice.delta.tool_calls or []:
                    known = self._places.get(piece.index)
                    if known is None or (piece.id and piece.id != known.id and known.name):
                        known = _StreamedToolCall(id=piece.id or f"call_{next(self._ids)}")
                        self._places[piece.index] = known
                        self._calls.append(known)
                    call = known
                    if piece.function is not None:
                        call.name = call.name or piece.function.name or ""
                        call.arguments.append(piece.function.arguments or "")
                    call.extra.update(piece.model_extra or {})

    def whole(self) -> ModelAnswer:
        if self._finish is None:
            message = "the stream ended before the answer did"
            kind = ModelErrorKind.CUT_STREAM
            raise UnansweredError(ModelFailure(kind=kind, status=None, message=message))
        stop = (
            StopReason.REFUSED
            if self._refused
            else _STOP_REASONS.get(self._finish, StopReason.DONE)
        )
        calls = tuple(
            ModelToolCall(
                id=call.id, name=call.name, arguments="".join(call.arguments), extra=call.extra
            )
            for call in self._calls
        )
        text = "".join(self._text)
        return ModelAnswer(text=text, tool_calls=calls, stop=stop, extra=self._extra)

    def _take_thoughts(self, told: JsonObject) -> None:
        for name in _REASONING_FIELDS:
            if name in told:
                piece, known = told[name], self._extra.get(name, "")
                if isinstance(piece, list):
                    known = known if isinstance(known, list) else []
                    self._extra[name] = [*known, *piece]
                elif isinstance(known, str):
                    self._extra[name] = known + str(piece or "")
