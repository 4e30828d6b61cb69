"""How Anthropic and Google write an answer."""

import json
from collections.abc import Iterator
from typing import Any

from tests.fakes.scripted_answers import Tokens
from tests.fakes.scripted_reply import IDS, Chunk, Reply, pieces, sse

# Anthropic messages


def anthropic_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input - tokens.cached - tokens.cache_written,
        "cache_creation_input_tokens": tokens.cache_written,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
        "service_tier": "standard",
    }


def anthropic_stop(reply: Reply) -> str:
    return "refusal" if reply.refused else "tool_use" if reply.calls else "end_turn"


def blocks(reply: Reply) -> list[dict[str, Any]]:
    texts = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
    return texts + [
        {
            "type": "tool_use",
            "id": f"toolu_{next(IDS)}",
            "name": call.tool,
            "input": dict(call.arguments),
        }
        for call in reply.calls
    ]


def message(
    reply: Reply, content: list[dict[str, Any]], stop: str | None, usage: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"msg_{next(IDS)}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def message_stream(reply: Reply) -> Iterator[Chunk]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    tokens = reply.tokens
    first = Tokens(tokens.input, 1, tokens.cached, tokens.cache_written)
    start = message(reply, [], None, anthropic_usage(first))
    yield Chunk(event("message_start", message=start), first)
    yield Chunk(event("ping"))
    for index, block in enumerate(blocks(reply)):
        text = block["type"] == "text"
        opened = {**block, "text": ""} if text else {**block, "input": {}}
        yield Chunk(event("content_block_start", index=index, content_block=opened))
        source = block["text"] if text else json.dumps(block["input"])
        kind, key = ("text_delta", "text") if text else ("input_json_delta", "partial_json")
        for piece in pieces(source):
            yield Chunk(event("content_block_delta", index=index, delta={"type": kind, key: piece}))
        yield Chunk(event("content_block_stop", index=index))
    delta = {"stop_reason": anthropic_stop(reply), "stop_sequence": None}
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


def parts(reply: Reply) -> list[dict[str, Any]]:
    texts = [{"text": reply.text}] if reply.text or not reply.calls else []
    return texts + [
        {"functionCall": {"name": call.tool, "args": dict(call.arguments)}} for call in reply.calls
    ]


def candidates(reply: Reply, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "SAFETY" if reply.refused else "STOP"
    answer = {"candidates": [candidate], "modelVersion": reply.model, "responseId": "r1"}
    return {**answer, "usageMetadata": _gemini_usage(reply.tokens)} if last else answer


def gemini_stream(reply: Reply) -> Iterator[Chunk]:
    # Also in the chunks before the last one: what was counted so far.
    early = Tokens(reply.tokens.input, 0, reply.tokens.cached)
    for piece in pieces(reply.text):
        part = candidates(reply, [{"text": piece}], last=False)
        yield Chunk(sse({**part, "usageMetadata": _gemini_usage(early)}), early)
    rest = [part for part in parts(reply) if "functionCall" in part]
    yield Chunk(sse(candidates(reply, rest or [{"text": ""}], last=True)), reply.tokens)
