"""One answer of a model, in the words of each wire, whole and streamed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from agentbench.agents.model_door import Wire

Json = Mapping[str, object]

INPUT_TOKENS = 100
OUTPUT_TOKENS = 10
_TOTAL = INPUT_TOKENS + OUTPUT_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A call of a tool, or words."""

    number: int  # makes its ids its own
    model: str
    tool: str | None = None
    arguments: Json
    say: str = ""

    @property
    def written(self) -> str:
        """The arguments as a model writes them."""
        return json.dumps(self.arguments)


def whole(wire: Wire, answer: Answer) -> Json:
    """The body of an answer that is not streamed."""
    match wire:
        case Wire.OPENAI_CHAT:
            choice = {"index": 0, "message": _chat(answer), "finish_reason": _chat_end(answer)}
            return {**_chat_head(answer, ""), "choices": [choice], "usage": _CHAT_USAGE}
        case Wire.OPENAI_RESPONSES:
            return _response(answer)
        case Wire.ANTHROPIC_MESSAGES:
            return _message(answer)
        case Wire.GEMINI_GENERATE:
            return _candidates(answer)
        case _:
            assert_never(wire)


def streamed(wire: Wire, answer: Answer) -> bytes:
    """The same as a stream of server-sent events."""
    match wire:
        case Wire.OPENAI_CHAT:
            return b"".join([*map(_data, _chat_chunks(answer)), b"data: [DONE]\n\n"])
        case Wire.OPENAI_RESPONSES:
            return b"".join(map(_event, _response_events(answer)))
        case Wire.ANTHROPIC_MESSAGES:
            return b"".join(map(_event, _message_events(answer)))
        case Wire.GEMINI_GENERATE:
            return _data(_candidates(answer))
        case _:
            assert_never(wire)


def refusal(wire: Wire) -> Json:
    """What is said about a wrong key, with status 401."""
    said = "this rehearsal refuses every key"
    match wire:
        case Wire.OPENAI_CHAT | Wire.OPENAI_RESPONSES:
            kind = {"type": "invalid_request_error", "code": "invalid_api_key"}
            return {"error": {"message": said, **kind}}
        case Wire.ANTHROPIC_MESSAGES:
            return {"type": "error", "error": {"type": "authentication_error", "message": said}}
        case Wire.GEMINI_GENERATE:
            return {"error": {"code": 401, "message": said, "status": "UNAUTHENTICATED"}}
        case _:
            assert_never(wire)


def _data(body: Json) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _event(body: Json) -> bytes:
    return f"event: {body['type']}\n".encode() + _data(body)


_CHAT_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": _TOTAL,
}


def _chat_head(answer: Answer, suffix: str) -> dict[str, object]:
    kind = f"chat.completion{suffix}"
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": kind,
        "created": 1,
        "model": answer.model,
    }


def _chat(answer: Answer) -> dict[str, object]:
    if answer.tool is None:
        return {"role": "assistant", "content": answer.say}
    function = {"name": answer.tool, "arguments": answer.written}
    call = {"id": f"call_{answer.number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_end(answer: Answer) -> str:
    return "stop" if answer.tool is None else "tool_calls"


def _chat_chunks(answer: Answer) -> Iterator[Json]:
    head = _chat_head(answer, ".chunk")
    delta = _chat(answer)
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [{"index": 0, **call} for call in calls]
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_end(answer)}]}
    yield {**head, "choices": [], "usage": _CHAT_USAGE}


def _item(answer: Answer) -> dict[str, object]:
    if answer.tool is None:
        text = {"type": "output_text", "text": answer.say, "annotations": []}
        kind = {"type": "message", "id": f"msg_{answer.number}", "role": "assistant"}
        return {**kind, "status": "completed", "content": [text]}
    return {
        "type": "function_call",
        "id": f"fc_{answer.number}",
        "call_id": f"call_{answer.number}",
        "name": answer.tool,
        "arguments": answer.written,
        "status": "completed",
    }


def _response(answer: Answer) -> dict[str, object]:
    usage = {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": _TOTAL,
    }
    head = {"id": f"resp_{answer.number}", "object": "response", "created_at": 1}
    body = {"model": answer.model, "output": [_item(answer)], "usage": usage}
    return {**head, "status": "completed", **body}


def _response_events(answer: Answer) -> Iterator[Json]:
    done, item = _response(answer), _item(answer)
    started = {**done, "status": "in_progress", "output": [], "usage": None}
    added = {**item, "status": "in_progress"}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.output_item.added", "output_index": 0, "item": added}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": done}


def _block(answer: Answer, *, begun: bool = False) -> Json:
    if answer.tool is None:
        return {"type": "text", "text": "" if begun else answer.say}
    name = {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.tool}
    return {**name, "input": {} if begun else answer.arguments}


def _message(answer: Answer) -> dict[str, object]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [_block(answer)],
        "stop_reason": "end_turn" if answer.tool is None else "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }


def _message_events(answer: Answer) -> Iterator[Json]:
    done = _message(answer)
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    begun = {**done, "content": [], "stop_reason": None, "usage": usage}
    delta: Json = {"type": "text_delta", "text": answer.say}
    if answer.tool is not None:
        delta = {"type": "input_json_delta", "partial_json": answer.written}
    end = {"stop_reason": done["stop_reason"], "stop_sequence": None}
    block = _block(answer, begun=True)
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _candidates(answer: Answer) -> Json:
    part: Json = {"text": answer.say}
    if answer.tool is not None:
        part = {"functionCall": {"name": answer.tool, "args": answer.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {
        "promptTokenCount": INPUT_TOKENS,
        "candidatesTokenCount": OUTPUT_TOKENS,
        "totalTokenCount": _TOTAL,
    }
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": answer.model,
    }
