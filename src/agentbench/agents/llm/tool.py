"""The interface of tools: a name, checked arguments, and a function for the sandbox."""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Annotated, Generic, TypeVar

from msgspec import Struct
from pydantic import AfterValidator

from agentbench.agents.interface import Budget
from agentbench.core.schema import JsonObject
from agentbench.models.conversation import ToolReply, ToolSpec
from agentbench.sandbox.interface import Sandbox
from agentbench.tasks.mcp_servers import McpServer
from agentbench.test_tools.arguments import (
    ToolArguments,
    input_schema,
    read_arguments,
)
from agentbench.test_tools.project import PytestProject

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
ToolArgumentsT = TypeVar("ToolArgumentsT", bound=ToolArguments)


def escape_control(text: str) -> str:
    r"""The text with control characters shown like `\x1b`; lone surrogates become U+FFFD."""

    def escaped(found: re.Match[str]) -> str:
        """A control character in a visible form."""
        code = ord(found.group())
        return f"\\x{code:02x}" if code < 0x100 else "\ufffd"

    return _CONTROL.sub(escaped, text)


def terminal_text(text: str) -> str:
    """The output of a program without terminal commands; a carriage return ends a line."""
    text = _ESCAPES.sub("", text)
    return escape_control(text.replace("\r\n", "\n").replace("\r", "\n"))


class ToolEffect(Enum):
    """The kinds of tools that the loop distinguishes."""

    LOOKS = auto()
    CHANGES = auto()
    TESTS = auto()
    SUBMITS = auto()


class ToolContext(Struct, frozen=True, kw_only=True):
    """The objects that tools use."""

    sandbox: Sandbox
    budget: Budget
    project: PytestProject  # to run tests
    mcp_servers: tuple[McpServer, ...] = ()


class Tool(Struct, Generic[ToolArgumentsT], frozen=True, kw_only=True):
    """One tool; `act` gets checked arguments."""

    name: str
    description: str
    arguments: type[ToolArgumentsT]
    act: Callable[[ToolContext, ToolArgumentsT], ToolReply]
    effect: ToolEffect = ToolEffect.LOOKS

    def use(self, context: ToolContext, arguments: JsonObject) -> ToolReply:
        """Check the arguments and run the tool.

        Raises:
            InvalidArgumentsError: the arguments are invalid.
            SandboxError: the sandbox is lost.
        """
        return self.act(context, read_arguments(self.arguments, arguments))

    @property
    def spec(self) -> ToolSpec:
        """The tool's description for a model."""
        schema = input_schema(self.arguments)
        return ToolSpec(name=self.name, description=self.description, schema=schema)


def _check_encodable(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("has half a character (a lone surrogate)")
    return text


ToolText = Annotated[str, AfterValidator(_check_encodable)]
"""A text that can be an argument of a program."""
