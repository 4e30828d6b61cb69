"""The tools that run programs: a shell command, a patch with git, and the project's tests."""

import re
from collections.abc import Iterator
from datetime import timedelta
from threading import Event

from pydantic import Field

from agentbench.agents.llm.tools.tool import (
    Tool,
    ToolContext,
    ToolEffect,
    ToolText,
    escape_control,
    terminal_text,
)
from agentbench.core.untrusted_json import cut_middle
from agentbench.models.conversation import ToolReply
from agentbench.pytest_results.tool_calls.answers import as_text
from agentbench.pytest_results.tool_calls.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    Seconds,
    ToolArguments,
)
from agentbench.pytest_results.tool_calls.project import CallControl, call_tests
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Ending

MAX_OUTPUT_LENGTH = 16_000
"""The most characters of output, from its start and its end."""

_OUTPUT_CAP = 64 * 1024  # bytes of output
_SHELL = 'exec 2>&1; if command -v bash >/dev/null; then exec bash -c "$1"; fi; exec sh -c "$1"'
_ENV = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}


class RunArguments(ToolArguments):
    """What `run` takes."""

    command: ToolText = Field(
        min_length=1, max_length=30_000, description="For a shell, in the workspace."
    )
    timeout_s: Seconds = Field(
        default=120, ge=1, le=3600, description="Seconds until it is killed, with all it started."
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
    return ToolReply(
        text=f"[{_ending_text(result)}]\n{output}" if output else _without_output(result)
    )


def _without_output(result: CommandResult) -> str:
    return f"[{_ending_text(result)}, no output]"


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
    description="Run a shell command in the workspace. There is no network. Nothing that it "
    "leaves running survives it. Long output loses its middle.",
    arguments=RunArguments,
    act=_run_command,
    effect=ToolEffect.CHANGES,
)


_PATCH_TIMEOUT = timedelta(seconds=60)
_MAX_MESSAGE_LENGTH = 4_000  # characters of git's message
_PREFIXED = re.compile(r"^(?:diff --git|---|\+\+\+) [\"]?[ab]/", re.MULTILINE)


class PatchArguments(ToolArguments):
    """What `apply_patch` takes."""

    patch: ToolText = Field(
        min_length=1, description="A unified diff, as `git diff` writes it, of one or more files."
    )


def _apply_patch(context: ToolContext, arguments: PatchArguments) -> ToolReply:
    """Apply the whole patch or nothing; wrong line counts in hunks are tolerated."""
    text = arguments.patch if arguments.patch.endswith("\n") else f"{arguments.patch}\n"
    tried: list[CommandResult] = []
    for options in _apply_options(text):
        tried.append(_git_apply(context, text, options))
        if tried[-1].ok:
            return ToolReply(text=f"applied; lines added and removed: {_changed_files(tried[-1])}")
    # The second way is only for patches that the first cannot parse: it reads hunks differently.
    telling = tried[-1] if "corrupt patch" in tried[0].stderr else tried[0]
    said = telling.stderr.strip() or f"git apply ended in {telling.ending}"
    return ToolReply(
        text=f"nothing was changed: {cut_middle(escape_control(said), _MAX_MESSAGE_LENGTH)}",
        failed=True,
    )


def _apply_options(patch: str) -> Iterator[tuple[str, ...]]:
    strip = () if _PREFIXED.search(patch) else ("-p0",)
    yield strip
    yield (*strip, "--recount")


def _git_apply(context: ToolContext, patch: str, options: tuple[str, ...]) -> CommandResult:
    argv = ("git", "apply", "--whitespace=nowarn", "--apply", "--numstat", *options, "-")
    return context.sandbox.run(Command(argv=argv, timeout=_PATCH_TIMEOUT, stdin=patch.encode()))


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


_FAILED_CALLS = ("invalid_arguments", "path_outside_root", "spawn")
"""The outcomes of calls that could not be run; failing tests are not among them."""


def _call_tests(context: ToolContext, arguments: ExecuteArguments | DiscoverArguments) -> ToolReply:
    answer = call_tests(context.project, arguments, CallControl(cancel=Event()))
    return ToolReply(text=as_text(answer), failed=answer["outcome"] in _FAILED_CALLS)


RUN_TESTS = Tool(
    name="run_tests",
    description="Run the project's pytest tests: all, or those that paths or node_ids, keyword "
    "and markers select. Returns every test's outcome, with message and traceback of those that "
    "failed.",
    arguments=ExecuteArguments,
    act=_call_tests,
    effect=ToolEffect.TESTS,
)
DISCOVER_TESTS = Tool(
    name="discover_tests",
    description="Collect the project's pytest tests without running them. Returns their ids, and "
    "the error of every file that cannot be collected.",
    arguments=DiscoverArguments,
    act=_call_tests,
)
