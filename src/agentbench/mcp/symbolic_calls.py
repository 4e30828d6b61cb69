"""Calls of the symbolic tools: each is answered, in the tool's own form, whatever comes of it."""

import logging
import secrets
from collections.abc import Mapping

import anyio
from mcp.shared.exceptions import MCPError

from agentbench.mcp.calls import carry_out
from agentbench.mcp.symbolic_envelopes import ErrorType
from agentbench.mcp.symbolic_tools import SYMBOLIC_ARGUMENTS, Symbolic, SymbolicTool, refused
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.arguments import InvalidArgumentsError, read_arguments
from agentbench.pytest_results.tool_calls.outcomes import INVALID_PARAMS, SERVER_ERROR

_logger = logging.getLogger(__name__)
_AT_ONCE = 2
_INCIDENT_BYTES = 6
_OF_THE_CALLER = (ErrorType.VALUE, ErrorType.SYNTAX, ErrorType.VALIDATION)


class SymbolicCalls:
    """Answers calls, so many at a time; a look at the server's health waits for none of them."""

    def __init__(self, symbolic: Symbolic) -> None:
        self._symbolic = symbolic
        self._searches = anyio.CapacityLimiter(_AT_ONCE)
        self._looks = anyio.CapacityLimiter(1)

    async def answer(self, tool: SymbolicTool, given: Mapping[str, object] | None) -> JsonObject:
        """What a call comes to."""
        is_look = tool is SymbolicTool.HEALTH
        limiter = self._looks if is_look else self._searches
        try:
            # Whatever is sent along, the health of the server is what it is.
            arguments = read_arguments(SYMBOLIC_ARGUMENTS[tool], None if is_look else given)
            return await carry_out(
                lambda watch: self._symbolic.call(tool, arguments, watch.cancel),
                limiter=limiter,
                tell=None,
            )
        except InvalidArgumentsError as error:
            told = f"invalid arguments: {'; '.join(error.faults)}"
            return refused(tool, ErrorType.VALUE, told)
        except Exception:  # a bug of ours must neither end the server nor tell of itself
            incident = secrets.token_hex(_INCIDENT_BYTES)
            _logger.error("incident %s", incident, exc_info=True)
            return refused(tool, ErrorType.RUNTIME, f"Internal server error (incident {incident})")


def symbolic_error(answer: JsonObject) -> MCPError:
    """An answer as a JSON-RPC error, all of it as its data."""
    code = INVALID_PARAMS if answer["error_type"] in _OF_THE_CALLER else SERVER_ERROR
    return MCPError(code, str(answer["message"]), answer)
