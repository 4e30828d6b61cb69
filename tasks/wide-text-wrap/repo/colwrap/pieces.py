"""Pieces of text between which a line may break."""

from collections.abc import Iterator
from dataclasses import dataclass

from colwrap.columns import char_width, is_wide

_CLOSING = frozenset("、。，．：；！？）」』】〉》］｝〕’”)]}!?,.:;%ーぁぃぅぇぉっゃゅょァィゥェォッャュョ")
_OPENING = frozenset("（「『【〈《［｛〔‘“([{")


@dataclass(frozen=True)
class Piece:
    """Characters that stay together, or a run of spaces between them."""

    text: str
    is_space: bool


def pieces(line: str) -> list[Piece]:
    """Split a line so that joining the pieces' texts gives it back."""
    return [Piece(text, text.isspace()) for text in _runs(line)]


def _runs(line: str) -> Iterator[str]:
    run = ""
    for character in line:
        if run and _may_break(run, character):
            yield run
            run = ""
        run += character
    if run:
        yield run


def _may_break(run: str, following: str) -> bool:
    """Whether a line may break after a run and before a character."""
    if run.isspace() or following.isspace():
        return run.isspace() != following.isspace()
    if char_width(following) == 0 or following in _CLOSING:
        return False
    last = _base(run)
    if last in _OPENING:
        return False
    return is_wide(last) or is_wide(following)


def _base(run: str) -> str:
    """The last character of a run that takes a column, below any marks on it."""
    return next((each for each in reversed(run) if char_width(each)), run[-1])
