"""The tools that run programs, and the table of all tools with the function that runs calls."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from threading import Event

from pydantic import Field

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import cut_middle
from agentbench.extensions.llm.file_tools import EDIT, LIST_FILES, READ_FILE, SEARCH
from agentbench.extensions.llm.mcp_tools import CALL_MCP_TOOL
from agentbench.extensions.llm.tool import Tool, ToolContext, ToolEffect
from agentbench.models.conversation import ModelToolCall, ToolReply, ToolSpec
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.test_tools.agent_texts import (
    MAX_OUTPUT_LENGTH,
    RUN_DESCRIPTION,
    RUN_TESTS_DESCRIPTION,
    RunArguments,
    ToolText,
    escape_control,
    terminal_text,
)
from agentbench.test_tools.answers import as_text
from agentbench.test_tools.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    InvalidArgumentsError,
    ToolArguments,
    escaped_name,
)
from agentbench.test_tools.project import CallControl, call_tests

_OUTPUT_CAP = 64 * 1024  # bytes of output
_SHELL = 'exec 2>&1; if command -v bash >/dev/null; then exec bash -c "$1"; fi; exec sh -c "$1"'
_ENV = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}
_PATCH_TIMEOUT = timedelta(seconds=60)
_MAX_MESSAGE_LENGTH = 4_000  # characters of git's message
_PREFIXED = re.compile(r"^(?:diff --git|---|\+\+\+) [\"]?[ab]/", re.MULTILINE)
# The outcomes of calls that could not be run; failing tests are not among them.
_FAILED_CALLS = ("invalid_arguments", "path_outside_root", "spawn")
_MAX_QUOTED = 200  # characters of arguments that are not JSON


def _run_command(context: ToolContext, arguments: RunArguments) -> ToolReply:
    result = context.sandbox.run(
        Command(
            argv=("sh", "-c", _SHELL, "sh", arguments.command),
            timeout=timedelta(seconds=arguments.timeout_s),
            env=_ENV,
            output_cap=_OUTPUT_CAP,
        )
    )
    output = cut_middle(
        terminal_text(result.stdout + result.stderr).rstrip("\n"), MAX_OUTPUT_LENGTH
    )
    ending = _ending_text(result)
    return ToolReply(text=f"[{ending}]\n{output}" if output else f"[{ending}, no output]")


def _ending_text(result: CommandResult) -> str:
    match result.ending:
        case Ending.EXITED:
            return f"exit code {result.exit_code}"
        case Ending.TIMED_OUT:
            return f"killed at its deadline, after {result.duration.total_seconds():.0f} s"
        case Ending.OUT_OF_MEMORY:
            return "killed: out of memory"
        case Ending.OUT_OF_DISK:
            return f"killed: out of disk (limit {result.exceeded}); remove something"
        case Ending.KILLED:
            return f"killed by signal {result.signal}"
        case Ending.LOST:
            return "lost"


RUN = Tool(
    name="run",
    description=RUN_DESCRIPTION,
    arguments=RunArguments,
    act=_run_command,
    effect=ToolEffect.CHANGES,
)


class PatchArguments(ToolArguments):
    """The arguments of `apply_patch`."""

    patch: ToolText = Field(
        min_length=1, description="A unified diff, as `git diff` writes it, of one or more files."
    )


def _apply_patch(context: ToolContext, arguments: PatchArguments) -> ToolReply:
    """Apply the whole patch or nothing; wrong line counts in hunks are tolerated."""
    text = arguments.patch if arguments.patch.endswith("\n") else f"{arguments.patch}\n"
    tried: list[CommandResult] = []
    argv = ("git", "apply", "--whitespace=nowarn", "--apply", "--numstat")
    strip = () if _PREFIXED.search(text) else ("-p0",)
    for recount in ((), ("--recount",)):
        command = Command(
            argv=(*argv, *strip, *recount, "-"), timeout=_PATCH_TIMEOUT, stdin=text.encode()
        )
        tried.append(context.sandbox.run(command))
        if tried[-1].ok:
            return ToolReply(text=f"applied; lines added and removed: {_changed_files(tried[-1])}")
    # The second command reads hunks differently; it is only for patches that the first cannot
    # parse.
    telling = tried[-1] if "corrupt patch" in tried[0].stderr else tried[0]
    message = telling.stderr.strip() or f"git apply ended in {telling.ending}"
    return ToolReply(
        text=f"nothing was changed: {cut_middle(escape_control(message), _MAX_MESSAGE_LENGTH)}",
        failed=True,
    )


def _changed_files(result: CommandResult) -> str:
    rows = [line.split("\t", 2) for line in escape_control(result.stdout).splitlines()]
    return ", ".join(f"{row[-1]} +{row[0]} -{row[1]}" for row in rows[:20] if len(row) > 2)


APPLY_PATCH = Tool(
    name="apply_patch",
    description="Apply a unified diff to the workspace; wholly, or not at all.",
    arguments=PatchArguments,
    act=_apply_patch,
    effect=ToolEffect.CHANGES,
)


def _call_tests(context: ToolContext, arguments: ExecuteArguments | DiscoverArguments) -> ToolReply:
    answer = call_tests(context.project, arguments, CallControl(cancel=Event()))
    return ToolReply(text=as_text(answer), failed=answer["outcome"] in _FAILED_CALLS)


RUN_TESTS = Tool(
    name="run_tests",
    description=RUN_TESTS_DESCRIPTION,
    arguments=ExecuteArguments,
    act=_call_tests,
    effect=ToolEffect.TESTS,
)
DISCOVER_TESTS = Tool(
    name="discover_tests",
    description="Collect the project's tests without running them. Returns their ids, and "
    "the error of every file that cannot be collected.",
    arguments=DiscoverArguments,
    act=_call_tests,
)


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

_TOOLS = (LIST_FILES, READ_FILE, SEARCH, EDIT, APPLY_PATCH, RUN, RUN_TESTS, DISCOVER_TESTS, SUBMIT)
_WITH_MCP = (*_TOOLS, CALL_MCP_TOOL)
EFFECT_OF_TOOL: Mapping[str, ToolEffect] = {tool.name: tool.effect for tool in _WITH_MCP}
"""The effect of each tool, by its name."""


@cache
def tool_specs(*, with_mcp: bool = False) -> tuple[ToolSpec, ...]:
    """The tools' descriptions for a model.

    Args:
        with_mcp: Whether the task has MCP servers.
    """
    return tuple(tool.spec for tool in (_WITH_MCP if with_mcp else _TOOLS))


def use_tool(context: ToolContext, call: ModelToolCall) -> ToolReply:
    """Run a call; a malformed one gets an error reply.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: the run was cancelled.
    """
    tools = _WITH_MCP if context.mcp_servers else _TOOLS
    for tool in tools:
        if tool.name == call.name:
            try:
                return tool.use(context, _parse_arguments(call.arguments))
            except InvalidArgumentsError as error:
                faults = escape_control("; ".join(error.faults))
                return ToolReply(text=f"invalid arguments: {faults}", failed=True)
    known = ", ".join(tool.name for tool in tools)
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
