"""How OpenAI writes an answer, on both of its wires."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.fakes.scripted_answers import Asked, Tokens
from tests.fakes.scripted_reply import IDS, Chunk, Reply, pieces, sse

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
            "id": f"call_{next(IDS)}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
        }
        for call in reply.calls
    ]


def _finish(reply: Reply) -> str:
    return "content_filter" if reply.refused else "tool_calls" if reply.calls else "stop"


def chat(reply: Reply) -> dict[str, Any]:
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
    name = f"chatcmpl-{next(IDS)}"
    return {"id": name, "object": kind, "created": 1_700_000_000, "model": reply.model}


def chat_stream(reply: Reply, asked: Asked) -> Iterator[Chunk]:
    head = _chat_head("chat.completion.chunk", reply)
    wants_usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if wants_usage else {}
        return Chunk(sse({**head, "choices": [choice], **usage}))

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(reply)):
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(reply))
    if wants_usage:
        last = {**head, "choices": [], "usage": _chat_usage(reply.tokens)}
        yield Chunk(sse(last), reply.tokens)
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


def output(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        kind = (
            {"type": "refusal", "refusal": reply.text}
            if reply.refused
            else {"type": "output_text", "text": reply.text, "annotations": []}
        )
        items.append(
            {
                "id": f"msg_{next(IDS)}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [kind],
            }
        )
    items += [
        {
            "id": f"fc_{next(IDS)}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{next(IDS)}",
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
        }
        for call in reply.calls
    ]
    return items


def response(
    reply: Reply, output: list[dict[str, Any]], status: str = "completed"
) -> dict[str, Any]:
    return {
        "id": f"resp_{next(IDS)}",
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


def response_stream(reply: Reply) -> Iterator[Chunk]:
    number = count()

    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, "sequence_number": next(number), **fields}, kind)

    begun = response(reply, [], "in_progress")
    yield Chunk(event("response.created", response=begun))
    yield Chunk(event("response.in_progress", response=begun))
    items = output(reply)
    for at, item in enumerate(items):
        yield from map(Chunk, _item_events(event, at, item))
    done = {**response(reply, items), "id": begun["id"]}
    yield Chunk(event("response.completed", response=done), reply.tokens)


def _item_events(event: Any, at: int, item: dict[str, Any]) -> Iterator[bytes]:
    if item["type"] == "function_call":
        opened = {**item, "arguments": "", "status": "in_progress"}
        yield event("response.output_item.added", output_index=at, item=opened)
        where = {"item_id": item["id"], "output_index": at}
        for piece in pieces(item["arguments"]):
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
        for piece in pieces(part[key]):
            yield event(f"response.{kind}.delta", **where, delta=piece, logprobs=[])
        yield event(f"response.{kind}.done", **where, **{key: part[key]}, logprobs=[])
        yield event("response.content_part.done", **where, part=part)
    yield event("response.output_item.done", output_index=at, item=item)
