"""Text from an agent or its tests, made safe to show at a terminal or on a page."""

import re
import unicodedata

# A terminal command without an end counts as text: it would hide the rest otherwise.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)?")


def printable(text: str, *, limit: int | None = None, newlines: bool = False) -> str:
    """A text without escape sequences, with every other control character made visible.

    `newlines` keeps line ends and tabs; `limit` cuts to so many characters, with an ellipsis.
    """
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text  # the usual case
    kept = {"\n", "\t"} if newlines else set()
    shown = "".join(
        char if char in kept or not _is_control(char) else f"\\u{ord(char):04x}"
        for char in _ESCAPES.sub("", text)
    )
    if limit is not None and len(shown) > limit:
        return f"{shown[: limit - 1]}…"
    return shown


def _is_control(char: str) -> bool:
    # Cc: control; Cf: format (bidirectional overrides); Cs: lone surrogates; Zl, Zp: line ends.
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
