"""Answers as no library would write them: half a call, a name that is none, two calls in one."""

import json

from agentbench.models.interface import ApiFormat
from tests.fakes.scripted_model import Raw

_STREAM = {"content-type": "text/event-stream"}


def arguments_text(given):
    """JSON as a model writes it."""
    return json.dumps(given)


def raw_call(wire, name, arguments, *, cut_off=False):
    """One call of a tool with these very arguments."""
    if wire is ApiFormat.OPENAI_CHAT:
        return openai_chunks(
            {"tool_calls": [openai_piece(0, "call_x", name, arguments)]},
            finish="length" if cut_off else "tool_calls",
        )
    block = {"type": "tool_use", "id": "toolu_x", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return anthropic_events(
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        stop="max_tokens" if cut_off else "tool_use",
    )


def raw_text(wire, text, *, cut_off=False):
    """Text, which may end at the limit of tokens."""
    if wire is ApiFormat.OPENAI_CHAT:
        return openai_chunks({"content": text}, finish="length" if cut_off else "stop")
    return anthropic_events(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        stop="max_tokens" if cut_off else "end_turn",
    )


def openai_piece(index, call_id, name, arguments, **more):
    """A piece of a call in a chunk; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    piece = {"index": index, "id": call_id, "type": "function", **more}
    given = {key: value for key, value in piece.items() if value is not None}
    return {**given, "function": {key: value for key, value in function.items() if value}}


def openai_chunks(*deltas, finish="stop"):
    """A stream of chat completions."""
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [{**head, "choices": [choice]} for choice in choices if finish or choice["delta"]]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Raw("".join([*lines, "data: [DONE]\n\n"]).encode(), headers=_STREAM)


def anthropic_events(*events, stop="end_turn"):
    """A stream of messages."""
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}
    start = {**message, "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}
    all_events = [{"type": "message_start", "message": start}, *events]
    all_events += [end, {"type": "message_stop"}] if stop else []
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in all_events]
    return Raw("".join(lines).encode(), headers=_STREAM)
