"""All tools, and a way to use them that answers whatever a model calls."""

import json
from collections.abc import Mapping
from functools import cache

from pydantic import Field

from agentbench.agents.llm.conversation import Reply, ToolCall, ToolSpec
from agentbench.agents.llm.tools.on_files import EDIT, LIST_FILES, READ_FILE, SEARCH
from agentbench.agents.llm.tools.patching import APPLY_PATCH
from agentbench.agents.llm.tools.running import RUN
from agentbench.agents.llm.tools.safe_text import visible
from agentbench.agents.llm.tools.testing import DISCOVER_TESTS, RUN_TESTS
from agentbench.agents.llm.tools.tool import Desk, Effect, Text, Tool
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.arguments import (
    Arguments,
    InvalidArgumentsError,
    harmless_name,
)

_TOLD = 200  # characters of arguments that are no JSON


class SubmitArguments(Arguments):
    """What `submit` takes."""

    summary: Text = Field(default="", description="What was wrong and what was changed, in short.")


def _submit(desk: Desk, arguments: SubmitArguments) -> Reply:
    del desk, arguments
    return Reply(text="submitted")


SUBMIT = Tool(
    name="submit",
    description="Say that the work is done. Nothing can be changed afterwards.",
    arguments=SubmitArguments,
    act=_submit,
    effect=Effect.SUBMITS,
)

_ALL = (
    LIST_FILES,
    READ_FILE,
    SEARCH,
    EDIT,
    APPLY_PATCH,
    RUN,
    RUN_TESTS,
    DISCOVER_TESTS,
    SUBMIT,
)
EFFECTS: Mapping[str, Effect] = {tool.name: tool.effect for tool in _ALL}
"""What each is for."""


@cache
def specs() -> tuple[ToolSpec, ...]:
    """The tools as a model is told of them."""
    return tuple(tool.spec for tool in _ALL)


def use(desk: Desk, call: ToolCall) -> Reply:
    """Do what a call asks for; one that is malformed is told so.

    Raises:
        SandboxError: the sandbox is lost.
        KeyboardInterrupt: the run was cancelled.
    """
    for tool in _ALL:
        if tool.name == call.name:
            try:
                return tool.use(desk, _as_object(call.arguments))
            except InvalidArgumentsError as error:
                told = visible("; ".join(error.faults))
                return Reply(text=f"invalid arguments: {told}", failed=True)
    known = ", ".join(EFFECTS)
    return Reply(text=f"there is no tool {harmless_name(call.name)}; known: {known}", failed=True)


def _as_object(arguments: str) -> JsonObject:
    """The arguments of a call; many models write nothing where there are none."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        said = f"{error}; found {arguments[:_TOLD]!a}"
        raise InvalidArgumentsError([f"expected a JSON object: {said}"]) from None
    if not isinstance(value, dict):
        raise InvalidArgumentsError([f"expected a JSON object, found {arguments[:_TOLD]!a}"])
    return value
