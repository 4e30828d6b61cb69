"""How each provider writes an answer, whole and streamed, and how it writes an error."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from agentbench.agents.model_door import ModelErrorKind, Wire
from tests.fakes.scripted_answers import NO_TOKENS, Asked, Call, Fail, Tokens

_ids = count(1)
_PIECE = 12  # characters of text in a chunk


@dataclass(frozen=True)
class Reply:
    """An answer, before any wire."""

    model: str
    text: str
    calls: tuple[Call, ...]
    tokens: Tokens
    refused: bool = False


@dataclass(frozen=True)
class Chunk:
    """One piece of a stream; `told` is all that was said about tokens up to it."""

    data: bytes
    told: Tokens | None = None


def whole(wire: Wire, reply: Reply) -> dict[str, Any]:
    """The answer as one JSON object."""
    match wire:
        case Wire.OPENAI_CHAT:
            return _chat(reply)
        case Wire.OPENAI_RESPONSES:
            return _response(reply, _output(reply))
        case Wire.ANTHROPIC_MESSAGES:
            stop = _anthropic_stop(reply)
            return _message(reply, _blocks(reply), stop, _anthropic_usage(reply.tokens))
        case Wire.GEMINI_GENERATE:
            return _candidates(reply, _parts(reply), last=True)


def streamed(wire: Wire, reply: Reply, asked: Asked) -> Iterator[Chunk]:
    """The answer as server-sent events."""
    match wire:
        case Wire.OPENAI_CHAT:
            return _chat_stream(reply, asked)
        case Wire.OPENAI_RESPONSES:
            return _response_stream(reply)
        case Wire.ANTHROPIC_MESSAGES:
            return _message_stream(reply)
        case Wire.GEMINI_GENERATE:
            return _gemini_stream(reply)


def _sse(data: Any, event: str | None = None) -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


# OpenAI chat completions


def _chat_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning, "audio_tokens": 0},
    }


def _chat_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{next(_ids)}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
        }
        for call in reply.calls
    ]


def _finish(reply: Reply) -> str:
    return "content_filter" if reply.refused else "tool_calls" if reply.calls else "stop"


def _chat(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = _chat_calls(reply)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return {
        **_chat_head("chat.completion", reply),
        "choices": [choice],
        "usage": _chat_usage(reply.tokens),
    }


def _chat_head(kind: str, reply: Reply) -> dict[str, Any]:
    name = f"chatcmpl-{next(_ids)}"
    return {"id": name, "object": kind, "created": 1_700_000_000, "model": reply.model}


def _chat_stream(reply: Reply, asked: Asked) -> Iterator[Chunk]:
    head = _chat_head("chat.completion.chunk", reply)
    wants_usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if wants_usage else {}
        return Chunk(_sse({**head, "choices": [choice], **usage}))

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(reply)):
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(reply))
    if wants_usage:
        last = {**head, "choices": [], "usage": _chat_usage(reply.tokens)}
        yield Chunk(_sse(last), reply.tokens)
    yield Chunk(b"data: [DONE]\n\n")


# OpenAI responses


def _response_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }


def _output(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        kind = (
            {"type": "refusal", "refusal": reply.text}
            if reply.refused
            else {"type": "output_text", "text": reply.text, "annotations": []}
        )
        items.append(
            {
                "id": f"msg_{next(_ids)}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [kind],
            }
        )
    items += [
        {
            "id": f"fc_{next(_ids)}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{next(_ids)}",
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
        }
        for call in reply.calls
    ]
    return items


def _response(
    reply: Reply, output: list[dict[str, Any]], status: str = "completed"
) -> dict[str, Any]:
    return {
        "id": f"resp_{next(_ids)}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _response_usage(reply.tokens) if status == "completed" else None,
    }


def _response_stream(reply: Reply) -> Iterator[Chunk]:
    number = count()

    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, "sequence_number": next(number), **fields}, kind)

    begun = _response(reply, [], "in_progress")
    yield Chunk(event("response.created", response=begun))
    yield Chunk(event("response.in_progress", response=begun))
    items = _output(reply)
    for at, item in enumerate(items):
        yield from map(Chunk, _item_events(event, at, item))
    done = {**_response(reply, items), "id": begun["id"]}
    yield Chunk(event("response.completed", response=done), reply.tokens)


def _item_events(event: Any, at: int, item: dict[str, Any]) -> Iterator[bytes]:
    if item["type"] == "function_call":
        opened = {**item, "arguments": "", "status": "in_progress"}
        yield event("response.output_item.added", output_index=at, item=opened)
        where = {"item_id": item["id"], "output_index": at}
        for piece in _pieces(item["arguments"]):
            yield event("response.function_call_arguments.delta", **where, delta=piece)
        whole_text = {"arguments": item["arguments"], "name": item["name"]}
        yield event("response.function_call_arguments.done", **where, **whole_text)
    else:
        (part,) = item["content"]
        kind = part["type"]
        key = "text" if kind == "output_text" else "refusal"
        where = {"item_id": item["id"], "output_index": at, "content_index": 0}
        opened = {**item, "content": [], "status": "in_progress"}
        yield event("response.output_item.added", output_index=at, item=opened)
        yield event("response.content_part.added", **where, part={**part, key: ""})
        for piece in _pieces(part[key]):
            yield event(f"response.{kind}.delta", **where, delta=piece, logprobs=[])
        yield event(f"response.{kind}.done", **where, **{key: part[key]}, logprobs=[])
        yield event("response.content_part.done", **where, part=part)
    yield event("response.output_item.done", output_index=at, item=item)


# Anthropic messages


def _anthropic_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input - tokens.cached - tokens.cache_written,
        "cache_creation_input_tokens": tokens.cache_written,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
        "service_tier": "standard",
    }


def _anthropic_stop(reply: Reply) -> str:
    return "refusal" if reply.refused else "tool_use" if reply.calls else "end_turn"


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    texts = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
    return texts + [
        {
            "type": "tool_use",
            "id": f"toolu_{next(_ids)}",
            "name": call.tool,
            "input": dict(call.arguments),
        }
        for call in reply.calls
    ]


def _message(
    reply: Reply, content: list[dict[str, Any]], stop: str | None, usage: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"msg_{next(_ids)}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _message_stream(reply: Reply) -> Iterator[Chunk]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    tokens = reply.tokens
    first = Tokens(tokens.input, 1, tokens.cached, tokens.cache_written)
    start = _message(reply, [], None, _anthropic_usage(first))
    yield Chunk(event("message_start", message=start), first)
    yield Chunk(event("ping"))
    for index, block in enumerate(_blocks(reply)):
        text = block["type"] == "text"
        opened = {**block, "text": ""} if text else {**block, "input": {}}
        yield Chunk(event("content_block_start", index=index, content_block=opened))
        source = block["text"] if text else json.dumps(block["input"])
        kind, key = ("text_delta", "text") if text else ("input_json_delta", "partial_json")
        for piece in _pieces(source):
            yield Chunk(event("content_block_delta", index=index, delta={"type": kind, key: piece}))
        yield Chunk(event("content_block_stop", index=index))
    delta = {"stop_reason": _anthropic_stop(reply), "stop_sequence": None}
    usage = {"output_tokens": tokens.output}
    yield Chunk(event("message_delta", delta=delta, usage=usage), tokens)
    yield Chunk(event("message_stop"))


# Gemini


def _gemini_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "promptTokenCount": tokens.input,
        "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": tokens.input + tokens.output,
    }


def _parts(reply: Reply) -> list[dict[str, Any]]:
    texts = [{"text": reply.text}] if reply.text or not reply.calls else []
    return texts + [
        {"functionCall": {"name": call.tool, "args": dict(call.arguments)}} for call in reply.calls
    ]


def _candidates(reply: Reply, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "SAFETY" if reply.refused else "STOP"
    answer = {"candidates": [candidate], "modelVersion": reply.model, "responseId": "r1"}
    return {**answer, "usageMetadata": _gemini_usage(reply.tokens)} if last else answer


def _gemini_stream(reply: Reply) -> Iterator[Chunk]:
    # Also in the chunks before the last one: what was counted so far.
    early = Tokens(reply.tokens.input, 0, reply.tokens.cached)
    for piece in _pieces(reply.text):
        part = _candidates(reply, [{"text": piece}], last=False)
        yield Chunk(_sse({**part, "usageMetadata": _gemini_usage(early)}), early)
    rest = [part for part in _parts(reply) if "functionCall" in part]
    yield Chunk(_sse(_candidates(reply, rest or [{"text": ""}], last=True)), reply.tokens)


# Errors

_OPENAI = {
    ModelErrorKind.RATE_LIMIT: ("requests", "rate_limit_exceeded", "Rate limit reached"),
    ModelErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota", "You exceeded your quota"),
    ModelErrorKind.AUTH: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided"),
    ModelErrorKind.UNKNOWN_MODEL: (
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you do not have access to it.",
    ),
    ModelErrorKind.CONTEXT_LENGTH: (
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
    ),
    ModelErrorKind.MALFORMED: ("invalid_request_error", None, "Missing required parameter"),
    ModelErrorKind.OVERLOADED: ("server_error", "server_overloaded", "The engine is overloaded"),
}
_ANTHROPIC = {
    ModelErrorKind.RATE_LIMIT: ("rate_limit_error", "This request would exceed your rate limit"),
    ModelErrorKind.QUOTA: ("billing_error", "Your credit balance is too low"),
    ModelErrorKind.AUTH: ("authentication_error", "invalid x-api-key"),
    ModelErrorKind.UNKNOWN_MODEL: ("not_found_error", "model: no-such-model"),
    ModelErrorKind.CONTEXT_LENGTH: (
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    ModelErrorKind.MALFORMED: ("invalid_request_error", "messages: Field required"),
    ModelErrorKind.OVERLOADED: ("overloaded_error", "Overloaded"),
}
_GEMINI = {
    ModelErrorKind.RATE_LIMIT: ("RESOURCE_EXHAUSTED", "Resource has been exhausted"),
    ModelErrorKind.QUOTA: ("RESOURCE_EXHAUSTED", "You exceeded your current quota, see billing"),
    ModelErrorKind.AUTH: ("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    ModelErrorKind.UNKNOWN_MODEL: ("NOT_FOUND", "models/no-such-model is not found"),
    ModelErrorKind.CONTEXT_LENGTH: (
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    ),
    ModelErrorKind.MALFORMED: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    ModelErrorKind.OVERLOADED: ("UNAVAILABLE", "The model is overloaded. Try again later."),
}


def error_body(wire: Wire | None, fail: Fail) -> dict[str, Any]:
    """The error as the provider of a wire writes it."""
    kind = fail.shown_kind
    if wire is Wire.ANTHROPIC_MESSAGES:
        name, message = _ANTHROPIC.get(kind, ("api_error", "Internal server error"))
        error = {"type": name, "message": fail.message or message}
        return {"type": "error", "error": error, "request_id": "req_1"}
    if wire is Wire.GEMINI_GENERATE:
        name, message = _GEMINI.get(kind, ("INTERNAL", "An internal error has occurred"))
        error = {"code": fail.status, "message": fail.message or message, "status": name}
        if kind is ModelErrorKind.AUTH:
            info = "type.googleapis.com/google.rpc.ErrorInfo"
            error["details"] = [{"@type": info, "reason": "API_KEY_INVALID"}]
        return {"error": error}
    family, code, message = _OPENAI.get(kind, ("server_error", None, "The server had an error"))
    return {
        "error": {"message": fail.message or message, "type": family, "param": None, "code": code}
    }


def error_event(wire: Wire, fail: Fail) -> Chunk:
    """The error as it comes in the middle of a stream."""
    body = error_body(wire, fail)
    if wire is Wire.ANTHROPIC_MESSAGES:
        return Chunk(_sse(body, "error"))
    if wire is Wire.OPENAI_RESPONSES:
        reply = Reply("model", "", (), NO_TOKENS)
        error = {"code": body["error"]["code"] or "server_error"}
        failed = {**_response(reply, [], "failed"), "error": {**error, **body["error"]}}
        failed["error"]["code"] = error["code"]
        kind = "response.failed"
        return Chunk(_sse({"type": kind, "sequence_number": 99, "response": failed}, kind))
    return Chunk(_sse(body))
