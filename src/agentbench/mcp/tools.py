"""The three tools: what each takes, what it does, and what it is called."""

from collections.abc import Mapping
from enum import StrEnum

from agentbench.errors import SandboxError
from agentbench.mcp.answers import explained
from agentbench.mcp.arguments import ExplainArguments
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.answers import no_pytest
from agentbench.pytest_results.tool_calls.arguments import (
    Arguments,
    DiscoverArguments,
    ExecuteArguments,
)
from agentbench.pytest_results.tool_calls.calls import Watch, call_tests
from agentbench.pytest_results.tool_calls.project import Project
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason
from agentbench.scoring.taxonomy import FailureReason


class ToolName(StrEnum):
    """The tools of the server."""

    EXECUTE = "execute_tests"
    DISCOVER = "discover_tests"
    EXPLAIN = "explain_failure"


ARGUMENTS: Mapping[ToolName, type[Arguments]] = {
    ToolName.EXECUTE: ExecuteArguments,
    ToolName.DISCOVER: DiscoverArguments,
    ToolName.EXPLAIN: ExplainArguments,
}
"""What each tool takes."""


def call(project: Project, arguments: Arguments, watch: Watch) -> JsonObject:
    """Do what a tool is for; returns the answer. Runs pytest, so it is no call for an event loop.

    Raises:
        KeyboardInterrupt: it was called off; no process of it is left.
    """
    match arguments:
        case ExecuteArguments() | DiscoverArguments():
            return _call_tests(project, arguments, watch)
        case ExplainArguments():
            return explained(_explanation(arguments))
        case _:
            raise TypeError(f"no tool takes {type(arguments).__name__}")


def _call_tests(
    project: Project, arguments: ExecuteArguments | DiscoverArguments, watch: Watch
) -> JsonObject:
    try:
        return call_tests(project, arguments, watch)
    except SandboxError as error:
        return no_pytest(str(error), project.mask)


def _explanation(arguments: ExplainArguments) -> str:
    if arguments.reason is not None:
        return explain_reason(FailureReason(arguments.reason))
    assert arguments.exit_code is not None  # one of the two is given
    return explain_exit_code(arguments.exit_code, arguments.stage)
