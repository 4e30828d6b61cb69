"""The interface of tools: a name, checked arguments, and a function for the sandbox."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

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

ToolArgumentsT = TypeVar("ToolArgumentsT", bound=ToolArguments)


class ToolEffect(Enum):
    """The kinds of tools that the loop distinguishes."""

    LOOKS = auto()
    CHANGES = auto()
    TESTS = auto()
    SUBMITS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The objects that tools use."""

    sandbox: Sandbox
    budget: Budget
    project: PytestProject  # to run tests
    mcp_servers: tuple[McpServer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ToolArgumentsT]):
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
