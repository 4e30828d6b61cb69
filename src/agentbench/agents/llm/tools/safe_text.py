"""Makes text that others wrote fit to be shown to a model: no control and no half characters."""

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with each control character shown as `\x1b`; half characters become U+FFFD."""
    return _CONTROL.sub(_shown, text)


def as_printed(text: str) -> str:
    """What a program printed, less what only a terminal obeys.

    A carriage return ends a line, so that a progress bar is not one line.
    """
    text = _ESCAPES.sub("", text)
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else "\ufffd"
