"""What an agent's tools say and accept, whoever offers them: texts without control characters."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from agentbench.test_tools.arguments import Seconds, ToolArguments

MAX_OUTPUT_LENGTH = 16_000
"""The most characters of output, from its start and its end."""
RUN_DESCRIPTION = (
    "Run a shell command in the workspace. Processes that it leaves running are killed. The "
    "middle of long output is left out."
)
RUN_TESTS_DESCRIPTION = (
    "Run the project's tests: all, or those that paths or node_ids, keyword and markers select. "
    "Returns every test's outcome, with message and traceback of those that failed."
)

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape_control(text: str) -> str:
    r"""The text with control characters shown like `\x1b`; lone surrogates become U+FFFD."""

    def escaped(found: re.Match[str]) -> str:
        code = ord(found.group())
        return f"\\x{code:02x}" if code < 0x100 else "\ufffd"

    return _CONTROL.sub(escaped, text)


def terminal_text(text: str) -> str:
    """The output of a program without terminal commands; a carriage return ends a line."""
    text = _ESCAPES.sub("", text)
    return escape_control(text.replace("\r\n", "\n").replace("\r", "\n"))


# The kernel takes no NUL in an argument, and UTF-8 has no lone surrogates.
def _check_encodable(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("has half a character (a lone surrogate)")
    return text


ToolText = Annotated[str, AfterValidator(_check_encodable)]
"""A text that can be an argument of a program."""


class RunArguments(ToolArguments):
    """The arguments of `run`."""

    command: ToolText = Field(
        min_length=1, max_length=30_000, description="For a shell, in the workspace."
    )
    timeout_s: Seconds = Field(
        default=120, ge=1, le=3600, description="Seconds until it is killed, with all it started."
    )
