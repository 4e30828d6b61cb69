"""An answer before any wire, and the pieces that it is sent in."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.fakes.scripted_answers import (
    NO_TOKENS,
    Answer,
    Call,
    Calls,
    Cut,
    Hang,
    Huge,
    Reset,
    Say,
    Tokens,
)

IDS = count(1)
PIECE = 12  # characters of text in a chunk


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


def sse(data: Any, event: str | None = None) -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


_FILLER = Reply("", "the quick brown fox jumps over the lazy dog, again and again", (), NO_TOKENS)


def reply_of(model: str, answer: Answer) -> Reply:
    """What a script's answer says; some filler where it is about how it ends."""
    match answer:
        case Say(text=text, refused=refused):
            return Reply(model, text, (), answer.tokens, refused)
        case Call(text=text):
            return Reply(model, text, (answer,), answer.tokens)
        case Calls(calls=calls, text=text):
            return Reply(model, text, tuple(calls), answer.tokens)
        case Huge(size=size):
            return Reply(model, "x" * size, (), answer.tokens)
        case Cut() | Hang() | Reset():
            return Reply(model, _FILLER.text, (), answer.tokens)
        case _:
            return Reply(model, _FILLER.text, (), NO_TOKENS)
