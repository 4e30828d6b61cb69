"""POST /v1/chat/completions, OpenAI's format: for the gateway, trajectories and the agent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, repeat
from typing import Any, cast

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models import conversation as talk
from agentbench.models.conversation import Message, ModelToolCall, Role, StopReason
from agentbench.models.formats import interface
from agentbench.models.formats.interface import first_object, nested_object
from agentbench.models.interface import (
    ApiFormat,
    ModelEndpoint,
    TokenCounts,
    token_count,
)

ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "assistant": Role.AGENT}
_STOP_REASONS = {"length": StopReason.CUT_OFF, "content_filter": StopReason.REFUSED}
_REASONING_FIELDS = ("reasoning_content", "reasoning_details")
"""Fields that some servers require back with every answer that calls tools, even if empty."""
_CALL_FIELDS = frozenset({"index", "id", "type", "function"})


def openai_tokens(usage: JsonObject, *, input_prefix: str, output_prefix: str) -> TokenCounts:
    """The tokens in `usage`, by the words for a model's input and output."""
    details = nested_object(usage, f"{input_prefix}_tokens_details")
    return TokenCounts(
        input=token_count(usage.get(f"{input_prefix}_tokens")),
        output=token_count(usage.get(f"{output_prefix}_tokens")),
        cached=token_count(details.get("cached_tokens")),
        cache_written=token_count(details.get("cache_write_tokens")),
    )


class OpenAIChatFormat(interface.FormatAdapter):
    """A stream reports tokens only on request, in a last event without choices."""

    api_format = ApiFormat.OPENAI_CHAT

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request with the option that makes a stream report tokens."""
        options = nested_object(request, "stream_options")
        if not request.get("stream") or options.get("include_usage"):
            return None
        return {**request, "stream_options": {**options, "include_usage": True}}

    def is_extra(self, event: JsonObject) -> bool:
        """Whether the event has tokens and no choices."""
        return event.get("choices") == [] and bool(nested_object(event, "usage"))

    def tokens(self, payload: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """The tokens in `usage`."""
        usage = nested_object(payload, "usage")
        return (
            openai_tokens(usage, input_prefix="prompt", output_prefix="completion")
            if usage
            else before
        )

    def ends(self, event: JsonObject) -> bool:
        """Whether the event has a finish reason; some servers omit the `[DONE]` after it."""
        return first_object(event, "choices").get("finish_reason") is not None

    def events_of(self, answer: JsonObject) -> Sequence[JsonObject]:
        """A chunk with the message of each choice, and one with the ends and the tokens."""
        deltas: list[JsonObject] = []
        ends: list[JsonObject] = []
        for number, choice in enumerate(objects(answer.get("choices"))):
            message = nested_object(choice, "message")
            for index, call in enumerate(objects(message.get("tool_calls"))):
                call["index"] = index
            deltas.append({"index": number, "delta": message, "finish_reason": None})
            usual = "tool_calls" if message.get("tool_calls") else "stop"
            end = text(choice.get("finish_reason")) or usual
            ends.append({"index": number, "delta": {}, "finish_reason": end})
        if not deltas:
            return ()
        chunk: JsonObject = {"object": "chat.completion.chunk"}
        chunk |= {name: answer[name] for name in ("id", "created", "model") if name in answer}
        return (
            chunk | {"choices": deltas},
            chunk | {"choices": ends, "usage": answer.get("usage")},
        )

    def refuses(self, payload: JsonObject) -> bool:
        """Whether a filter stopped the answer, or the model refused."""
        choice = first_object(payload, "choices")
        filtered = choice.get("finish_reason") == "content_filter"
        refusals = (nested_object(choice, part).get("refusal") for part in ("message", "delta"))
        return filtered or any(refusals)

    def request_messages(self, body: JsonObject) -> Iterator[Message]:
        """The conversation in a request."""
        for message in objects(body.get("messages")):
            if message.get("role") == "tool":
                content = interface.content_text(message.get("content"))
                answer = talk.ToolResult(call_id=text(message.get("tool_call_id")), text=content)
                yield Message(speaker=Role.USER, results=(answer,))
            else:
                yield _message(message, ROLES.get(text(message.get("role")), Role.USER))

    def answer_message(self, body: JsonObject) -> Message:
        """The message of the first choice."""
        return _message(nested_object(first_object(body, "choices"), "message"), Role.AGENT)

    def streamed_message(self, events: Iterable[JsonObject]) -> Message:
        """The chunks put together."""
        answer = _StreamedAnswer(events)
        return Message(
            speaker=Role.AGENT,
            text=answer.text,
            reasoning=answer.reasoning,
            calls=tuple(map(_parsed_call, answer.calls)),
        )


def _message(message: JsonObject, speaker: Role) -> Message:
    answer = _StreamedAnswer()
    answer.add_delta(message)
    return Message(
        speaker=speaker,
        text=interface.content_text(message.get("content")) or text(message.get("refusal")),
        reasoning=answer.reasoning,
        calls=tuple(map(_parsed_call, answer.calls)),
    )


def _parsed_call(call: ModelToolCall) -> talk.ParsedToolCall:
    arguments = interface.parse_arguments(call.arguments)
    return talk.ParsedToolCall(id=call.id, name=call.name, arguments=arguments)


class _StreamedAnswer:
    """The chunks of an answer, put together; servers omit fields without a value."""

    def __init__(self, events: Iterable[JsonObject] = (), ids: Iterator[str] | None = None) -> None:
        """Add the chunks; `ids` are for tool calls without one."""
        self._ids = ids or repeat("")
        self.text = self.reasoning = ""
        self.calls: list[ModelToolCall] = []
        self._positions: dict[object, int] = {}  # the position of each call in the list
        self._finish = ""
        self._refused = False
        self._extra: JsonObject = {}
        for event in events:
            for choice in objects(event.get("choices")):
                self._finish = text(choice.get("finish_reason")) or self._finish
                self.add_delta(nested_object(choice, "delta"))

    def add_delta(self, delta: JsonObject) -> None:
        """Add one delta of a streamed answer."""
        self.text += interface.content_text(delta.get("content"))
        self.reasoning += text(delta.get("reasoning_content") or delta.get("reasoning"))
        self._refused |= bool(delta.get("refusal"))
        self._add_extra(delta)
        for number, part in enumerate(objects(delta.get("tool_calls"))):
            position, function = self._position_of(part, number), nested_object(part, "function")
            call = self.calls[position]
            arguments = interface.arguments_text(function.get("arguments"))
            if call.arguments and isinstance(function.get("arguments"), dict):
                arguments = ""  # the same object in each event of a call
            extra = {key: value for key, value in part.items() if key not in _CALL_FIELDS}
            self.calls[position] = replace(
                call,
                name=call.name or text(function.get("name")),
                arguments=call.arguments + arguments,
                extra={**call.extra, **extra},
            )

    def answer(self) -> talk.ModelAnswer | None:
        """The complete answer; None if the stream is incomplete."""
        if not self._finish:
            return None
        stop = _STOP_REASONS.get(self._finish, StopReason.DONE)
        calls = (
            replace(call, arguments=interface.decoded_arguments(call.arguments))
            for call in self.calls
        )
        return talk.ModelAnswer(
            text=self.text,
            tool_calls=tuple(calls),
            stop=StopReason.REFUSED if self._refused else stop,
            extra=self._extra,
        )

    def _position_of(self, part: JsonObject, number: int) -> int:
        index, call_id = part.get("index", number), text(part.get("id"))
        known = self.calls[self._positions[index]] if index in self._positions else None
        if known is None or (call_id and call_id != known.id and known.name):
            self._positions[index] = len(self.calls)
            self.calls.append(ModelToolCall(id=call_id or next(self._ids), name="", arguments=""))
        return self._positions[index]

    def _add_extra(self, delta: JsonObject) -> None:
        for name in _REASONING_FIELDS:
            if name in delta:
                piece, known = delta[name], self._extra.get(name, "")
                if isinstance(piece, list):
                    known = known if isinstance(known, list) else []
                    self._extra[name] = [*known, *piece]
                elif isinstance(known, str):
                    self._extra[name] = known + str(piece or "")


def openai_chat_client(endpoint: ModelEndpoint) -> talk.ModelClient:
    """A client over OpenAI's SDK, which is imported only here."""
    import openai

    from agentbench.models import sdk_client

    client = openai.OpenAI(
        api_key=endpoint.token,
        base_url=f"{sdk_client.BASE_URL}/v1",
        max_retries=0,
        http_client=sdk_client.endpoint_http_client(endpoint),
    )
    ids = (f"call_{number}" for number in count(1))

    def send(
        conversation: talk.Conversation, tools: Sequence[talk.ToolSpec], timeout_s: float
    ) -> sdk_client.SdkStream:
        """Start the request."""
        return client.chat.completions.create(
            model=endpoint.model,
            messages=cast("Any", list(_request_messages_of(conversation))),
            tools=cast("Any", [_tool_definition(tool) for tool in tools]),
            stream=True,
            timeout=timeout_s,
        )

    return sdk_client.SdkClient(
        openai, send, lambda events: _StreamedAnswer(events, ids).answer(), client.close
    )


def _tool_definition(tool: talk.ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _request_messages_of(conversation: talk.Conversation) -> Iterator[JsonObject]:
    yield {"role": "system", "content": conversation.system}
    yield {"role": "user", "content": conversation.opening}
    for turn in conversation.turns:
        answer = turn.answer
        if answer.tool_calls:
            calls = [_echoed_tool_call(call) for call in answer.tool_calls]
            message = {"role": "assistant", "content": answer.text or None, "tool_calls": calls}
            yield {**answer.extra, **message}
        elif answer.text:
            yield {"role": "assistant", "content": answer.text}
        for call, reply in zip(answer.tool_calls, turn.replies, strict=True):
            yield {"role": "tool", "tool_call_id": call.id, "content": reply.text}
        if turn.note:
            yield {"role": "user", "content": turn.note}


def _echoed_tool_call(call: ModelToolCall) -> JsonObject:
    """A call in a form that all servers accept back, even if the model wrote it wrong."""
    arguments = call.arguments if json_object(call.arguments) is not None else "{}"
    function = {"name": interface.sent_tool_name(call.name), "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function, **call.extra}
