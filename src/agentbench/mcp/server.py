"""The MCP server: lists the tools and answers calls; clients see only an incident name of a bug."""

import logging
import secrets
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from agentbench.core.schema import JsonObject
from agentbench.mcp import pytest_tools
from agentbench.mcp.calls import ProgressReporter, SymbolicCalls, run_in_thread, symbolic_error
from agentbench.mcp.pytest_tools import PYTEST_ARGUMENTS, PytestTool, call_pytest_tool
from agentbench.mcp.symbolic_tools import SymbolicTool, SymbolicTools, offered_tools
from agentbench.mcp.tool_descriptions import (
    pytest_tool_descriptions,
    server_instructions,
    symbolic_tool_description,
)
from agentbench.pytest_results.report_files import RunProgress
from agentbench.pytest_results.tool_calls import envelope
from agentbench.pytest_results.tool_calls.answers import invalid_arguments
from agentbench.pytest_results.tool_calls.arguments import (
    InvalidArgumentsError,
    escaped_name,
    read_arguments,
)
from agentbench.pytest_results.tool_calls.project import PytestProject

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

_logger = logging.getLogger(__name__)
_INCIDENT_BYTES = 6
_FIELDS_IN_ERROR = ("text_output", "exit_code", "spawn_error")  # already in an error's data


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
    """A server for one project; each call is complete in itself.

    Args:
        project: The project to test.
        error_mode: How errors are sent to the client.
        version: The version of agentbench.
        symbolic: The symbolic tools; None: the server has none.
    """
    tools = () if symbolic is None else offered_tools(installed=symbolic.installed)
    handlers = _Handlers(project, error_mode, symbolic, tools)
    return Server(
        "agentbench",
        version=version,
        title="agentbench: run tests, see what the judge sees",
        instructions=server_instructions(tools),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


class _Handlers:
    """The handlers of requests."""

    def __init__(
        self,
        project: PytestProject,
        error_mode: ErrorMode,
        symbolic: SymbolicTools | None,
        offered: tuple[SymbolicTool, ...],
    ) -> None:
        self._project = project
        self._error_mode = error_mode
        self._limiter = anyio.CapacityLimiter(project.runs_at_once)
        self._symbolic = None if symbolic is None else SymbolicCalls(symbolic)
        self._offered = offered

    async def list_tools(
        self, _context: ServerRequestContext[object], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """All tools."""
        tests = pytest_tool_descriptions(isolated=self._project.isolated)
        return ListToolsResult(tools=[*tests, *map(symbolic_tool_description, self._offered)])

    async def call_tool(
        self, context: ServerRequestContext[object], params: CallToolRequestParams
    ) -> CallToolResult:
        """Answer one call.

        Raises:
            MCPError: there is no such tool, or errors are sent as JSON-RPC errors.
        """
        if self._symbolic is not None and params.name in set(SymbolicTool):
            answer = await self._symbolic.answer(SymbolicTool(params.name), params.arguments)
        elif params.name in set(PytestTool):
            tell = context.meta is not None and "progress_token" in context.meta
            answer = await self._answer(context.session, params, tell=tell)
        else:
            names = ", ".join((*PytestTool, *self._offered))
            message = f"there is no tool {escaped_name(params.name)}; there are {names}"
            raise MCPError(envelope.INVALID_PARAMS, message)
        if self._error_mode is ErrorMode.JSONRPC and pytest_tools.is_error(answer):
            raise _as_protocol_error(answer)
        return pytest_tools.call_result(answer)

    async def _answer(
        self, session: "ServerSession", params: CallToolRequestParams, *, tell: bool
    ) -> JsonObject:
        try:
            arguments = read_arguments(PYTEST_ARGUMENTS[PytestTool(params.name)], params.arguments)
            work = partial(call_pytest_tool, self._project, arguments)
            return await run_in_thread(
                work, limiter=self._limiter, tell=_progress_reporter(session) if tell else None
            )
        except InvalidArgumentsError as error:
            return invalid_arguments(error.faults)
        except Exception:  # a bug must neither end the server nor reveal its traceback
            incident = secrets.token_hex(_INCIDENT_BYTES)
            _logger.error("incident %s", incident, exc_info=True)
            return pytest_tools.internal_error(incident)


def _progress_reporter(session: "ServerSession") -> ProgressReporter:
    async def tell(progress: RunProgress) -> None:
        """Send progress to the client."""
        message = f"{progress.done} of {progress.collected} tests"
        await session.report_progress(progress.done, progress.collected, message)

    return tell


def _as_protocol_error(answer: JsonObject) -> MCPError:
    """The error of an answer, with the results of finished tests."""
    if "error" not in answer:
        return symbolic_error(answer)
    error = envelope.ErrorObject.model_validate(answer["error"])
    told = {
        name: answer[name] for name in envelope.SERIALIZED_FIELDS if name not in _FIELDS_IN_ERROR
    }
    data = error.data.model_dump(mode="json", exclude_defaults=True)
    return MCPError(error.code, error.message, {**data, "result": told})
