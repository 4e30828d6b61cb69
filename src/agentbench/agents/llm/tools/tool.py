"""What a tool is: a name, arguments that are checked, and a function that acts in the sandbox."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator

from agentbench.agents.interface import Budget
from agentbench.agents.llm.conversation import Reply, ToolSpec
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.arguments import Arguments, read_arguments
from agentbench.pytest_results.tool_calls.input_schema import input_schema
from agentbench.pytest_results.tool_calls.project import Project
from agentbench.sandbox.interface import Sandbox

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Effect(Enum):
    """What a tool is for, as far as the loop has to know."""

    LOOKS = auto()
    CHANGES = auto()
    TESTS = auto()
    SUBMITS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What tools work with."""

    sandbox: Sandbox
    budget: Budget
    project: Project  # whose tests can be run


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ArgumentsT]):
    """One tool; `act` gets its arguments checked."""

    name: str
    description: str
    arguments: type[ArgumentsT]
    act: Callable[[Desk, ArgumentsT], Reply]
    effect: Effect = Effect.LOOKS

    def use(self, desk: Desk, given: JsonObject) -> Reply:
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


def _encodable(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("has half a character (a lone surrogate)")
    return text


Text = Annotated[str, AfterValidator(_encodable)]
"""Text that a program can be given."""
