"""What a tool is: a name, arguments that are checked, and a function that acts in the sandbox."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator

from agentbench.agents.interface import Budget
from agentbench.core.schema import JsonObject
from agentbench.models.conversation import ToolReply, ToolSpec
from agentbench.pytest_results.tool_calls.arguments import (
    ToolArguments,
    input_schema,
    read_arguments,
)
from agentbench.pytest_results.tool_calls.project import PytestProject
from agentbench.sandbox.interface import Sandbox

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape_control(text: str) -> str:
    r"""The text with each control character shown as `\x1b`; half characters become U+FFFD."""
    return _CONTROL.sub(_escaped, text)


def terminal_text(text: str) -> str:
    """What a program printed, less what only a terminal obeys.

    A carriage return ends a line, so that a progress bar is not one line.
    """
    text = _ESCAPES.sub("", text)
    return escape_control(text.replace("\r\n", "\n").replace("\r", "\n"))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else "\ufffd"


ToolArgumentsT = TypeVar("ToolArgumentsT", bound=ToolArguments)


class ToolEffect(Enum):
    """What a tool is for, as far as the loop has to know."""

    LOOKS = auto()
    CHANGES = auto()
    TESTS = auto()
    SUBMITS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What tools work with."""

    sandbox: Sandbox
    budget: Budget
    project: PytestProject  # whose tests can be run


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ToolArgumentsT]):
    """One tool; `act` gets its arguments checked."""

    name: str
    description: str
    arguments: type[ToolArgumentsT]
    act: Callable[[ToolContext, ToolArgumentsT], ToolReply]
    effect: ToolEffect = ToolEffect.LOOKS

    def use(self, desk: ToolContext, given: JsonObject) -> ToolReply:
        """Check the arguments and act.

        Raises:
            InvalidArgumentsError: the arguments are wrong.
            SandboxError: the sandbox is lost.
        """
        return self.act(desk, read_arguments(self.arguments, given))

    @property
    def spec(self) -> ToolSpec:
        """How a model is told of it."""
        schema = input_schema(self.arguments)
        return ToolSpec(name=self.name, description=self.description, schema=schema)


def _check_encodable(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("has half a character (a lone surrogate)")
    return text


ToolText = Annotated[str, AfterValidator(_check_encodable)]
"""Text that a program can be given."""
