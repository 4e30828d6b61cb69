"""The MCP server: lists the tools and answers calls; clients see only an incident name of a bug."""

import logging
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from agentbench.core.schema import JsonObject
from agentbench.mcp import calls, pytest_tools
from agentbench.mcp.pytest_tools import PytestTool
from agentbench.mcp.symbolic_tools import SymbolicTool, SymbolicTools, offered_tools
from agentbench.mcp.tool_descriptions import describe_tool
from agentbench.pytest_results.report_files import RunProgress
from agentbench.pytest_results.tool_calls import arguments, envelope
from agentbench.pytest_results.tool_calls.answers import invalid_arguments
from agentbench.pytest_results.tool_calls.project import PytestProject

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

_logger = logging.getLogger(__name__)
_TOOLS = {tool.value: tool for tool in (*PytestTool, *SymbolicTool)}
_FIELDS_IN_ERROR = ("text_output", "exit_code", "spawn_error")  # already in an error's data


INSTRUCTIONS = (
    "Runs the project's pytest tests and reports their results. Call execute_tests after a "
    "change; start with the tests next to it (paths or node_ids), then all of them. `outcome` is "
    "decided by evidence, not by the exit code alone: only `passed` means that every collected "
    "test ran to its end. Failing tests are not an error of the tool. A timeout or a crash keeps "
    "the tests done so far; the one with outcome `unfinished` was running. `omitted` names what "
    'was left out for size: narrow the selection, or ask with detail="full".'
)
SYMBOLIC_INSTRUCTIONS = (
    " Beyond tests: symbolic_check, find_path_to_exception, compare_functions and "
    "analyze_branches search the paths of a function that you pass as code, in a sandbox. "
    "Each finding is confirmed by a real call; if there is none, bounds.exhaustive says whether "
    "that is a proof."
)


def server_instructions(tools: Sequence[arguments.NamedTool]) -> str:
    """What the server tells a client's model about itself."""
    return INSTRUCTIONS + (SYMBOLIC_INSTRUCTIONS if SymbolicTool.CHECK in tools else "")


class ErrorMode(StrEnum):
    """How errors are sent to the client."""

    STRUCTURED = "structured"  # as a result with isError, visible to the model
    JSONRPC = "jsonrpc"  # as a JSON-RPC error, for clients built on ADR-007


def make_server(
    project: PytestProject,
    error_mode: ErrorMode,
    *,
    version: str,
    symbolic: SymbolicTools | None = None,
) -> Server[object]:
    """A server for one project; each call is complete in itself. `version` is agentbench's."""
    handlers = _Handlers(project, error_mode, symbolic)
    return Server(
        "agentbench",
        version=version,
        title="agentbench: run tests, see what the judge sees",
        instructions=server_instructions(handlers.tools),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


class _Handlers:
    """The handlers of requests."""

    def __init__(
        self, project: PytestProject, error_mode: ErrorMode, symbolic: SymbolicTools | None
    ) -> None:
        self._project = project
        self._error_mode = error_mode
        self._limiter = anyio.CapacityLimiter(project.runs_at_once)
        self._symbolic = None if symbolic is None else calls.SymbolicCalls(symbolic)
        offered = () if symbolic is None else offered_tools(installed=symbolic.installed)
        self.tools: tuple[arguments.NamedTool, ...] = (*PytestTool, *offered)

    async def list_tools(
        self, _context: ServerRequestContext[object], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """All tools."""
        isolated = self._project.isolated
        return ListToolsResult(tools=[describe_tool(one, isolated=isolated) for one in self.tools])

    async def call_tool(
        self, context: ServerRequestContext[object], params: CallToolRequestParams
    ) -> CallToolResult:
        """Answer one call; MCPError if there is no such tool, or for errors in JSON-RPC mode."""
        tool = _TOOLS.get(params.name)
        if self._symbolic is not None and isinstance(tool, SymbolicTool):
            answer = await self._symbolic.answer(tool, params.arguments)
        elif isinstance(tool, PytestTool):
            tell = context.meta is not None and "progress_token" in context.meta
            reporter = _progress_reporter(context.session) if tell else None
            answer = await self._answer(tool, params.arguments, reporter)
        else:
            name = arguments.escaped_name(params.name)
            message = f"there is no tool {name}; there are {', '.join(self.tools)}"
            raise MCPError(envelope.INVALID_PARAMS, message)
        if self._error_mode is ErrorMode.JSONRPC and pytest_tools.is_error(answer):
            raise _as_protocol_error(answer)
        return pytest_tools.call_result(answer)

    async def _answer(
        self, tool: PytestTool, given: JsonObject | None, tell: calls.ProgressReporter | None
    ) -> JsonObject:
        try:
            parsed = arguments.read_arguments(tool.arguments, given)
            work = partial(pytest_tools.call_pytest_tool, self._project, parsed)
            return await calls.run_in_thread(work, limiter=self._limiter, tell=tell)
        except arguments.InvalidArgumentsError as error:
            return invalid_arguments(error.faults)
        except Exception:  # a bug must neither end the server nor reveal its traceback
            incident = calls.new_incident()
            _logger.error("incident %s", incident, exc_info=True)
            return pytest_tools.internal_error(incident)


def _progress_reporter(session: "ServerSession") -> calls.ProgressReporter:
    async def tell(progress: RunProgress) -> None:
        message = f"{progress.done} of {progress.collected} tests"
        await session.report_progress(progress.done, progress.collected, message)

    return tell


def _as_protocol_error(answer: JsonObject) -> MCPError:
    """The error of an answer, with the results of finished tests."""
    if "error" not in answer:
        return calls.symbolic_error(answer)
    error = envelope.ErrorObject.model_validate(answer["error"])
    names = [name for name in envelope.SERIALIZED_FIELDS if name not in _FIELDS_IN_ERROR]
    data = error.data.model_dump(mode="json", exclude_defaults=True)
    result = {name: answer[name] for name in names}
    return MCPError(error.code, error.message, {**data, "result": result})
