"""The tools on tests: the calls and answers of the MCP server, to the letter."""

from threading import Event

from agentbench.agents.llm.conversation import Reply
from agentbench.agents.llm.tools.tool import Desk, Effect, Tool
from agentbench.pytest_results.tool_calls.answers import as_text
from agentbench.pytest_results.tool_calls.arguments import DiscoverArguments, ExecuteArguments
from agentbench.pytest_results.tool_calls.calls import Watch, call_tests

_NOT_RUN = ("invalid_arguments", "path_outside_root", "spawn")
"""Outcomes of calls that could not be carried out; failing tests are none."""


def _call(desk: Desk, arguments: ExecuteArguments | DiscoverArguments) -> Reply:
    answer = call_tests(desk.project, arguments, Watch(cancel=Event()))
    return Reply(text=as_text(answer), failed=answer["outcome"] in _NOT_RUN)


RUN_TESTS = Tool(
    name="run_tests",
    description="Run the project's pytest tests: all, or those that paths or node_ids, keyword "
    "and markers select. Returns every test's outcome, with message and traceback of those that "
    "failed.",
    arguments=ExecuteArguments,
    act=_call,
    effect=Effect.TESTS,
)
DISCOVER_TESTS = Tool(
    name="discover_tests",
    description="Collect the project's pytest tests without running them. Returns their ids, and "
    "the error of every file that cannot be collected.",
    arguments=DiscoverArguments,
    act=_call,
)
