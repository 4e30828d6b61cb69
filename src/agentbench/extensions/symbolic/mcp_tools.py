"""The symbolic tools as tools of the MCP server: their calls, and the sandboxes of these."""

from collections.abc import Mapping, Sequence

import anyio
from mcp.shared.exceptions import MCPError

from agentbench import __version__
from agentbench.core.extras import SYMBOLIC, is_installed
from agentbench.core.host import default_cache_dir, usable_cache_dir
from agentbench.core.schema import JsonObject
from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.sandbox import AnalysisSandboxes
from agentbench.extensions.symbolic.symbolic_tools import (
    SymbolicTool,
    SymbolicTools,
    error_answer,
    offered_tools,
)
from agentbench.mcp.server import answer_errors, run_in_thread
from agentbench.sandbox.back_ends import BACK_ENDS
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.test_tools import arguments, envelope
from agentbench.test_tools.arguments import NamedTool
from agentbench.test_tools.envelope import PathMask

_MAX_SEARCHES = 2
_CALLERS_ERRORS = (SymbolicErrorType.VALUE, SymbolicErrorType.SYNTAX, SymbolicErrorType.VALIDATION)
_INSTRUCTIONS = (
    " Beyond tests: symbolic_check, find_path_to_exception, compare_functions and "
    "analyze_branches search the paths of a function that you pass as code, in a sandbox. "
    "Each finding is confirmed by a real call; if there is none, bounds.exhaustive says whether "
    "that is a proof."
)


class SymbolicToolSet:
    """Runs a limited number of calls at a time; a health check never waits."""

    known = tuple(SymbolicTool)

    def __init__(self, symbolic: SymbolicTools) -> None:
        self._symbolic = symbolic
        self._searches = anyio.CapacityLimiter(_MAX_SEARCHES)
        self._health_checks = anyio.CapacityLimiter(1)
        self.offered = offered_tools(installed=symbolic.installed)
        self.instructions = _INSTRUCTIONS if SymbolicTool.CHECK in self.offered else ""

    async def answer(
        self, tool: NamedTool, raw_arguments: Mapping[str, object] | None
    ) -> JsonObject:
        assert isinstance(tool, SymbolicTool)
        is_health_check = tool is SymbolicTool.HEALTH
        limiter = self._health_checks if is_health_check else self._searches

        async def work() -> JsonObject:
            parsed = arguments.read_arguments(
                tool.arguments, None if is_health_check else raw_arguments
            )
            return await run_in_thread(
                lambda watch: self._symbolic.call(tool, parsed, watch.cancel), limiter=limiter
            )

        def invalid(faults: Sequence[str]) -> JsonObject:
            message = f"invalid arguments: {'; '.join(faults)}"
            return error_answer(tool, SymbolicErrorType.VALUE, message)

        def broken(incident: str) -> JsonObject:
            message = f"Internal server error (incident {incident})"
            return error_answer(tool, SymbolicErrorType.RUNTIME, message)

        return await answer_errors(work, invalid, broken)

    def protocol_error(self, answer: JsonObject) -> MCPError:
        """A JSON-RPC error with a whole answer as its data."""
        is_callers = answer["error_type"] in _CALLERS_ERRORS
        code = envelope.INVALID_PARAMS if is_callers else envelope.SERVER_ERROR
        return MCPError(code, str(answer["message"]), answer)


def make_tool_set(sandbox: str, mask: PathMask) -> SymbolicToolSet:
    """The tools; their calls run in sandboxes of a back end, and the mask hides paths."""
    symbolic = SymbolicTools(
        sandboxes=code_runner_for(sandbox),
        mask=mask,
        version=__version__,
        installed=is_installed(SYMBOLIC),
    )
    return SymbolicToolSet(symbolic)


def code_runner_for(sandbox: str) -> AnalysisSandboxes:
    """Sandboxes for submitted code: of a back end; `auto` takes the first real one available."""
    return AnalysisSandboxes(lambda: _connect(sandbox), default_cache_dir())


# The named back end; `auto` takes the quickest that isolates, since each call starts one.
def _connect(sandbox: str) -> SandboxProvider:
    quickest = sorted(BACK_ENDS, key=lambda back_end: back_end.start_ms)
    if sandbox == "auto":
        quickest = [back_end for back_end in quickest if back_end.isolates]
    return select_back_end(sandbox, cache_dir=usable_cache_dir(), back_ends=quickest).provider
