"""How each provider writes an answer, whole and streamed."""

from collections.abc import Iterator
from typing import Any

from agentbench.agents.model_door import Wire
from tests.fakes.scripted_answers import Asked
from tests.fakes.scripted_openai import chat, chat_stream, output, response, response_stream
from tests.fakes.scripted_others import (
    anthropic_stop,
    anthropic_usage,
    blocks,
    candidates,
    gemini_stream,
    message,
    message_stream,
    parts,
)
from tests.fakes.scripted_reply import Chunk, Reply


def whole(wire: Wire, reply: Reply) -> dict[str, Any]:
    """The answer as one JSON object."""
    match wire:
        case Wire.OPENAI_CHAT:
            return chat(reply)
        case Wire.OPENAI_RESPONSES:
            return response(reply, output(reply))
        case Wire.ANTHROPIC_MESSAGES:
            stop = anthropic_stop(reply)
            return message(reply, blocks(reply), stop, anthropic_usage(reply.tokens))
        case Wire.GEMINI_GENERATE:
            return candidates(reply, parts(reply), last=True)


def streamed(wire: Wire, reply: Reply, asked: Asked) -> Iterator[Chunk]:
    """The answer as server-sent events."""
    match wire:
        case Wire.OPENAI_CHAT:
            return chat_stream(reply, asked)
        case Wire.OPENAI_RESPONSES:
            return response_stream(reply)
        case Wire.ANTHROPIC_MESSAGES:
            return message_stream(reply)
        case Wire.GEMINI_GENERATE:
            return gemini_stream(reply)
