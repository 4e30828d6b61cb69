"""The tool that runs a command."""

from datetime import timedelta

from pydantic import Field

from agentbench.agents.llm.conversation import Reply
from agentbench.agents.llm.tools.safe_text import as_printed
from agentbench.agents.llm.tools.tool import Desk, Effect, Text, Tool
from agentbench.pytest_results.budget import cut_middle
from agentbench.pytest_results.tool_calls.arguments import Arguments, Seconds
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Ending

SHOWN_LIMIT = 16_000
"""Characters of output: its head and its tail."""

_KEPT = 64 * 1024  # bytes of output
_SHELL = 'exec 2>&1; if command -v bash >/dev/null; then exec bash -c "$1"; fi; exec sh -c "$1"'
_ENV = {"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}


class RunArguments(Arguments):
    """What `run` takes."""

    command: Text = Field(
        min_length=1, max_length=30_000, description="For a shell, in the workspace."
    )
    timeout_s: Seconds = Field(
        default=120, ge=1, le=3600, description="Seconds until it is killed, with all it started."
    )


def _run(desk: Desk, arguments: RunArguments) -> Reply:
    result = desk.sandbox.run(
        Command(
            argv=("sh", "-c", _SHELL, "sh", arguments.command),
            timeout=timedelta(seconds=arguments.timeout_s),
            env=_ENV,
            output_cap=_KEPT,
        )
    )
    output = cut_middle(as_printed(result.stdout + result.stderr).rstrip("\n"), SHOWN_LIMIT)
    return Reply(text=f"[{_how_it_ended(result)}]\n{output}" if output else _silent(result))


def _silent(result: CommandResult) -> str:
    return f"[{_how_it_ended(result)}, no output]"


def _how_it_ended(result: CommandResult) -> str:
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
    act=_run,
    effect=Effect.CHANGES,
)
