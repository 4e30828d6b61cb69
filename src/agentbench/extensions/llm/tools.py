"""The tools of the built-in agent: a shell, a file editor, the project's tests, and the end.

Files are read and edited by `in_sandbox.py`, which runs in the sandbox.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from functools import cache, partial
from importlib.resources import files
from threading import Event
from typing import Generic, TypeVar

from pydantic import Field, ValidationError

from agentbench.agents.interface import Budget
from agentbench.core.schema import JsonObject, Schema
from agentbench.core.untrusted_json import cut_middle
from agentbench.models.conversation import ModelToolCall, ToolReply, ToolSpec
from agentbench.sandbox.interface import Command, Sandbox
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
    ExecuteArguments,
    InvalidArgumentsError,
    ToolArguments,
    escaped_name,
    input_schema,
    read_arguments,
)
from agentbench.test_tools.project import CallControl, PytestProject, call_tests

CALL_TIMEOUT = timedelta(seconds=60)
"""The time limit of one reading or editing of a file."""

MAX_REPLY_LENGTH = 40_000
"""The most characters of a reply."""

_OUTPUT_CAP = 64 * 1024  # bytes of output
_SHELL = 'exec 2>&1; if command -v bash >/dev/null; then exec bash -c "$1"; fi; exec sh -c "$1"'
_ENV = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}
# The outcomes of calls that could not be run; failing tests are not among them.
_FAILED_CALLS = ("invalid_arguments", "path_outside_root", "spawn")
_MAX_QUOTED = 200  # characters of arguments that are not JSON
_PATH_DESCRIPTION = "A file, relative to the workspace."

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


class _InSandboxReply(Schema):
    text: str | None = None
    error: str | None = None


def run_in_sandbox(task: str, context: ToolContext, arguments: ToolArguments) -> ToolReply:
    """Run a task in the sandbox, which refuses paths that leave the workspace."""
    call = {
        "task": task,
        "root": str(context.sandbox.workspace),
        "given": arguments.model_dump(mode="json"),
    }
    # The sandbox's own Python may be old, and has no agentbench.
    source = files("agentbench.extensions.llm").joinpath("in_sandbox.py").read_text("utf-8")
    argv = ("python", "-I", "-S", "-B", "-c", source)
    stdin = json.dumps(call).encode()
    result = context.sandbox.run(Command(argv=argv, timeout=CALL_TIMEOUT, stdin=stdin))
    try:
        reply = _InSandboxReply.model_validate_json(result.stdout) if result.ok else None
    except ValidationError:
        reply = None
    if reply is None:
        return ToolReply(text=f"{task} {_failure_text(result)}", failed=True)
    text = reply.error or "" if reply.text is None else reply.text
    return ToolReply(
        text=cut_middle(escape_control(text), MAX_REPLY_LENGTH), failed=reply.text is None
    )


def _failure_text(result: CommandResult) -> str:
    seconds = result.duration.total_seconds()
    if result.ending is Ending.TIMED_OUT:
        return f"timed out after {seconds:.0f} s; ask for less"
    last = escape_control((result.stderr.strip() or result.ending.value).splitlines()[-1])
    return f"needs the `python` of the sandbox, which fails (exit code {result.exit_code}): {last}"


class ReadArguments(ToolArguments):
    """The arguments of `read_file`."""

    path: ToolText = Field(min_length=1, description=_PATH_DESCRIPTION)
    start_line: int = Field(default=1, ge=1, description="The first line to show, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="The last one; default: the end.")


class EditArguments(ToolArguments):
    """The arguments of `edit`."""

    path: ToolText = Field(min_length=1, description=_PATH_DESCRIPTION)
    old_text: ToolText = Field(
        description="The text to replace, to the letter, without line numbers; it must occur "
        "exactly once. Empty: make a new file."
    )
    new_text: ToolText = Field(description="The replacement.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


def _read_file(context: ToolContext, arguments: ReadArguments) -> ToolReply:
    if arguments.end_line is not None and arguments.end_line < arguments.start_line:
        return ToolReply(text="end_line is before start_line", failed=True)
    return run_in_sandbox("read_file", context, arguments)


READ_FILE = Tool(
    name="read_file",
    description="Show lines of a text file, with their numbers.",
    arguments=ReadArguments,
    act=_read_file,
)
EDIT = Tool(
    name="edit",
    description="Replace an exact text in a file by another one, or make a new file.",
    arguments=EditArguments,
    act=partial(run_in_sandbox, "edit"),
    effect=ToolEffect.CHANGES,
)


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


def _call_tests(context: ToolContext, arguments: ExecuteArguments) -> ToolReply:
    answer = call_tests(context.project, arguments, CallControl(cancel=Event()))
    return ToolReply(text=as_text(answer), failed=answer["outcome"] in _FAILED_CALLS)


RUN_TESTS = Tool(
    name="run_tests",
    description=RUN_TESTS_DESCRIPTION,
    arguments=ExecuteArguments,
    act=_call_tests,
    effect=ToolEffect.TESTS,
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


_TOOLS = (READ_FILE, EDIT, RUN, RUN_TESTS, SUBMIT)
EFFECT_OF_TOOL: Mapping[str, ToolEffect] = {tool.name: tool.effect for tool in _TOOLS}
"""The effect of each tool, by its name."""


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """The tools' descriptions for a model."""
    return tuple(tool.spec for tool in _TOOLS)


def use_tool(context: ToolContext, call: ModelToolCall) -> ToolReply:
    """Run a call; a malformed one gets an error reply."""
    # Models misspell names and arguments: they get an answer, and can repair the call.
    for tool in _TOOLS:
        if tool.name == call.name:
            try:
                return tool.use(context, _parse_arguments(call.arguments))
            except InvalidArgumentsError as error:
                faults = escape_control("; ".join(error.faults))
                return ToolReply(text=f"invalid arguments: {faults}", failed=True)
    known = ", ".join(tool.name for tool in _TOOLS)
    return ToolReply(
        text=f"there is no tool {escaped_name(call.name)}; known: {known}", failed=True
    )


# The arguments of a call; many models write an empty text for none.
def _parse_arguments(arguments: str) -> JsonObject:
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        message = f"{error}; found {arguments[:_MAX_QUOTED]!a}"
        raise InvalidArgumentsError([f"expected a JSON object: {message}"]) from None
    if not isinstance(value, dict):
        raise InvalidArgumentsError([f"expected a JSON object, found {arguments[:_MAX_QUOTED]!a}"])
    return value
