"""The table of the built-in agent's tools, and the function that runs a model's calls."""

import json
from collections.abc import Mapping
from functools import cache

from pydantic import Field

from agentbench.agents.llm.tools.command_tools import APPLY_PATCH, DISCOVER_TESTS, RUN, RUN_TESTS
from agentbench.agents.llm.tools.file_tools import EDIT, LIST_FILES, READ_FILE, SEARCH
from agentbench.agents.llm.tools.tool import Tool, ToolContext, ToolEffect, ToolText, escape_control
from agentbench.core.schema import JsonObject
from agentbench.models.conversation import ModelToolCall, ToolReply, ToolSpec
from agentbench.pytest_results.tool_calls.arguments import (
    InvalidArgumentsError,
    ToolArguments,
    escaped_name,
)

_MAX_QUOTED = 200  # characters of arguments that are not JSON


class SubmitArguments(ToolArguments):
    """The arguments of `submit`."""

    summary: ToolText = Field(
        default="", description="What was wrong and what was changed, in short."
    )


def _submit(context: ToolContext, arguments: SubmitArguments) -> ToolReply:
    del context, arguments
    return ToolReply(text="submitted")


SUBMIT = Tool(
    name="submit",
    description="Say that the work is done. Nothing can be changed afterwards.",
    arguments=SubmitArguments,
    act=_submit,
    effect=ToolEffect.SUBMITS,
)

_TOOLS = (
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
EFFECT_OF_TOOL: Mapping[str, ToolEffect] = {tool.name: tool.effect for tool in _TOOLS}
"""The descriptions of the tools."""


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """The tools' descriptions for a model."""
    return tuple(tool.spec for tool in _TOOLS)


def use_tool(context: ToolContext, call: ModelToolCall) -> ToolReply:
    """Run a call; a malformed one gets an error reply."""
    for tool in _TOOLS:
        if tool.name == call.name:
            try:
                return tool.use(context, _parse_arguments(call.arguments))
            except InvalidArgumentsError as error:
                told = escape_control("; ".join(error.faults))
                return ToolReply(text=f"invalid arguments: {told}", failed=True)
    known = ", ".join(EFFECT_OF_TOOL)
    return ToolReply(
        text=f"there is no tool {escaped_name(call.name)}; known: {known}", failed=True
    )


def _parse_arguments(arguments: str) -> JsonObject:
    """The arguments of a call; many models write an empty text for none."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        message = f"{error}; found {arguments[:_MAX_QUOTED]!a}"
        raise InvalidArgumentsError([f"expected a JSON object: {message}"]) from None
    if not isinstance(value, dict):
        raise InvalidArgumentsError([f"expected a JSON object, found {arguments[:_MAX_QUOTED]!a}"])
    return value
