"""An answer before any wire, and the pieces that it is sent in."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.fakes.scripted_answers import Call, Tokens

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
