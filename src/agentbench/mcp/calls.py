"""Runs blocking calls in threads, and cancels those without a waiting client."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from threading import Event

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp.shared.exceptions import MCPError

from agentbench.core.schema import JsonObject
from agentbench.errors import RunCancelled
from agentbench.mcp.symbolic_tools import SymbolicTool, SymbolicTools, error_answer
from agentbench.pytest_results.report_files import RunProgress
from agentbench.pytest_results.tool_calls.arguments import InvalidArgumentsError, read_arguments
from agentbench.pytest_results.tool_calls.envelope import INVALID_PARAMS, SERVER_ERROR
from agentbench.pytest_results.tool_calls.project import CallControl
from agentbench.symbolic.analysis import SymbolicErrorType

_POLL_SECONDS = 0.1
_logger = logging.getLogger(__name__)
_MAX_SEARCHES = 2
_INCIDENT_BYTES = 6
_CALLERS_ERRORS = (SymbolicErrorType.VALUE, SymbolicErrorType.SYNTAX, SymbolicErrorType.VALIDATION)

ProgressReporter = Callable[[RunProgress], Awaitable[None]]  # sends progress to the client


class CallCancelledError(Exception):
    """A call was cancelled without its client asking for that."""


async def run_in_thread(
    work: Callable[[CallControl], JsonObject],
    *,
    limiter: anyio.CapacityLimiter,
    tell: ProgressReporter | None,
) -> JsonObject:
    """Run work in a thread, and return its result.

    A cancellation is passed on to the work; no process of it runs any more after this returns.

    Raises:
        CallCancelledError: the work was cancelled, but this call was not.
    """
    relay = _ProgressRelay(tell)
    watch = CallControl(cancel=Event(), progress=None if tell is None else relay.put)
    async with anyio.create_task_group() as group:
        group.start_soon(_set_when_cancelled, watch.cancel)
        group.start_soon(relay.pass_on)
        answer = await anyio.to_thread.run_sync(_none_if_interrupted, work, watch, limiter=limiter)
        await relay.flush()
        group.cancel_scope.cancel()
    if answer is None:
        await anyio.lowlevel.checkpoint()  # raises if this call was cancelled
        raise CallCancelledError
    return answer


class _ProgressRelay:
    """Passes progress from a thread to a coroutine; only the latest counts."""

    def __init__(self, tell: ProgressReporter | None) -> None:
        self._tell = tell
        self._latest: RunProgress | None = None
        self._told = -1

    def put(self, progress: RunProgress) -> None:
        """Set the progress, from any thread."""
        self._latest = progress

    async def flush(self) -> None:
        """Send new progress to the client; the protocol requires it to increase."""
        latest = self._latest
        if self._tell is not None and latest is not None and latest.done > self._told:
            self._told = latest.done
            await self._tell(latest)

    async def pass_on(self) -> None:
        """Send progress while the call runs."""
        while self._tell is not None:
            await anyio.sleep(_POLL_SECONDS)
            await self.flush()


async def _set_when_cancelled(cancel: Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        cancel.set()


def _none_if_interrupted(
    work: Callable[[CallControl], JsonObject], watch: CallControl
) -> JsonObject | None:
    try:
        return work(watch)
    except RunCancelled:  # the sandbox's command was cancelled
        return None


def new_incident() -> str:
    """A random name for a bug, which is all that a client sees of it."""
    return secrets.token_hex(_INCIDENT_BYTES)


class SymbolicCalls:
    """Runs a limited number of calls at a time; a health check never waits."""

    def __init__(self, symbolic: SymbolicTools) -> None:
        self._symbolic = symbolic
        self._searches = anyio.CapacityLimiter(_MAX_SEARCHES)
        self._looks = anyio.CapacityLimiter(1)

    async def answer(self, tool: SymbolicTool, given: Mapping[str, object] | None) -> JsonObject:
        """The answer to a call."""
        is_look = tool is SymbolicTool.HEALTH
        limiter = self._looks if is_look else self._searches
        try:
            # The health check ignores its arguments.
            arguments = read_arguments(tool.arguments, None if is_look else given)
            return await run_in_thread(
                lambda watch: self._symbolic.call(tool, arguments, watch.cancel),
                limiter=limiter,
                tell=None,
            )
        except InvalidArgumentsError as error:
            message = f"invalid arguments: {'; '.join(error.faults)}"
            return error_answer(tool, SymbolicErrorType.VALUE, message)
        except Exception:  # a bug must neither end the server nor reveal its traceback
            incident = new_incident()
            _logger.error("incident %s", incident, exc_info=True)
            message = f"Internal server error (incident {incident})"
            return error_answer(tool, SymbolicErrorType.RUNTIME, message)


def symbolic_error(answer: JsonObject) -> MCPError:
    """A JSON-RPC error with a whole answer as its data."""
    code = INVALID_PARAMS if answer["error_type"] in _CALLERS_ERRORS else SERVER_ERROR
    return MCPError(code, str(answer["message"]), answer)
