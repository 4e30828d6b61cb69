"""How many columns characters take."""

import unicodedata

_INVISIBLE = {"Mn", "Me", "Cf", "Cc"}
_SOFT_HYPHEN = "\u00ad"


def char_width(character: str) -> int:
    """Return 0, 1 or 2: the columns that one character takes.

    The category is asked first: some combining marks (U+3099, which turns か into が) are "wide" by their East
    Asian width, and still take no column of their own.
    """
    if character == _SOFT_HYPHEN:
        return 1
    if unicodedata.category(character) in _INVISIBLE:
        return 0
    return 2 if is_wide(character) else 1


def text_width(text: str) -> int:
    """Return the columns that a text takes on one line."""
    return len(text) if text.isascii() and text.isprintable() else sum(map(char_width, text))


def is_wide(character: str) -> bool:
    """Whether a character is wide or full-width by Unicode's East Asian width."""
    return unicodedata.east_asian_width(character) in "WF"


def cut(text: str, columns: int) -> tuple[str, str]:
    """Split a text in two, the first part as long as fits in so many columns."""
    used = 0
    for at, character in enumerate(text):
        wide = char_width(character)
        if used + wide > columns:
            return text[:at], text[at:]
        used += wide
        if used == columns:
            return text[: at + 1], text[at + 1 :]
    return text, ""
