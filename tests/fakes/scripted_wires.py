"""How each provider writes an answer, whole and streamed."""

from collections.abc import Iterator
from typing import Any

from agentbench.models.interface import ApiFormat
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


def whole(wire: ApiFormat, reply: Reply) -> dict[str, Any]:
    """The answer as one JSON object."""
    match wire:
        case ApiFormat.OPENAI_CHAT:
            return chat(reply)
        case ApiFormat.OPENAI_RESPONSES:
            return response(reply, output(reply))
        case ApiFormat.ANTHROPIC_MESSAGES:
            stop = anthropic_stop(reply)
            return message(reply, blocks(reply), stop, anthropic_usage(reply.tokens))
        case ApiFormat.GEMINI_GENERATE:
            return candidates(reply, parts(reply), last=True)


def streamed(wire: ApiFormat, reply: Reply, asked: Asked) -> Iterator[Chunk]:
    """The answer as server-sent events."""
    match wire:
        case ApiFormat.OPENAI_CHAT:
            return chat_stream(reply, asked)
        case ApiFormat.OPENAI_RESPONSES:
            return response_stream(reply)
        case ApiFormat.ANTHROPIC_MESSAGES:
            return message_stream(reply)
        case ApiFormat.GEMINI_GENERATE:
            return gemini_stream(reply)
