"""The MCP server: its tools with their descriptions, and its calls."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from threading import Event
from typing import Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from agentbench.core.schema import JsonObject
from agentbench.errors import RunCancelled
from agentbench.mcp import pytest_tools
from agentbench.mcp.error_mode import ErrorMode
from agentbench.mcp.pytest_tools import PytestTool
from agentbench.test_runs.report_files import RunProgress
from agentbench.test_tools import arguments, envelope
from agentbench.test_tools.answers import invalid_arguments
from agentbench.test_tools.arguments import NamedTool, input_schema
from agentbench.test_tools.envelope import PathMask
from agentbench.test_tools.project import CallControl, PytestProject

_NUMBERS = frozenset({"integer", "number"})
_POLL_SECONDS = 0.1
_logger = logging.getLogger(__name__)
_INCIDENT_BYTES = 6  # of the incident's name, the only detail of a bug that a client sees
ProgressReporter = Callable[[RunProgress], Awaitable[None]]  # sends progress to the client
_FIELDS_IN_ERROR = ("text_output", "exit_code", "spawn_error")  # already in an error's data
INSTRUCTIONS = (
    "Runs the project's tests and reports their results. Call execute_tests after a "
    "change; start with the tests next to it (paths or node_ids), then all of them. `outcome` is "
    "decided by evidence, not by the exit code alone: only `passed` means that every collected "
    "test ran to its end. Failing tests are not an error of the tool. A timeout or a crash keeps "
    "the tests done so far; the one with outcome `unfinished` was running. `omitted` names what "
    'was left out for size: narrow the selection, or ask with detail="full".'
)


def compact_schema(schema: JsonObject) -> JsonObject:
    """A shorter, less strict schema: every value that fits the given schema fits this one.

    Definitions are inlined. Objects of numbers, and objects outside of lists, do not list their
    fields. Titles, defaults and inner descriptions are removed.
    """
    definitions = _object_fields(schema.get("$defs"))
    properties = {}
    for name, field in _object_fields(schema["properties"]).items():
        properties[name] = _field(field, definitions)
        if "description" in field:
            properties[name]["description"] = field["description"]
    return {
        "type": "object",
        "properties": properties,
        "required": schema["required"],
        "additionalProperties": False,
    }


def _field(
    field: JsonObject, definitions: Mapping[str, JsonObject], *, in_list: bool = False
) -> JsonObject:
    reference, choices, items = field.get("$ref"), field.get("anyOf"), field.get("items")
    if isinstance(reference, str):
        named = definitions[reference.rpartition("/")[2]]
        return _field(named, definitions, in_list=in_list)
    if isinstance(choices, list):
        return {"anyOf": [_field(choice, definitions) for choice in choices]}
    if "enum" in field:
        return {"enum": field["enum"]}
    schema: JsonObject = {"type": field["type"]}
    if isinstance(items, dict):
        schema["items"] = _field(items, definitions, in_list=True)
    properties = _object_fields(field.get("properties"))
    if properties and all(inner.get("type") in _NUMBERS for inner in properties.values()):
        schema["additionalProperties"] = {"type": "number"}
    elif in_list and properties:
        schema["properties"] = {
            name: _field(each, definitions) for name, each in properties.items()
        }
    return schema


def _object_fields(value: object) -> dict[str, JsonObject]:
    return value if isinstance(value, dict) else {}


@cache
def describe_tool(tool: NamedTool, *, isolated: bool) -> types.Tool:
    """A tool with its schemas; `isolated` tests reach neither the network nor this machine."""
    runs_tests = tool in (PytestTool.EXECUTE, PytestTool.DISCOVER)
    return types.Tool(
        name=tool.value,
        title=tool.value.replace("_", " ").capitalize(),
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=compact_schema(tool.answer.model_json_schema(mode="serialization")),
        annotations=types.ToolAnnotations(
            read_only_hint=not runs_tests,
            destructive_hint=tool is PytestTool.EXECUTE and not isolated,
            idempotent_hint=tool is not PytestTool.EXECUTE,
            open_world_hint=runs_tests and not isolated,
        ),
    )


class CallCancelledError(Exception):
    """A call was cancelled without its client asking for that."""


async def run_in_thread(
    work: Callable[[CallControl], JsonObject],
    *,
    limiter: anyio.CapacityLimiter,
    tell: ProgressReporter | None = None,
) -> JsonObject:
    """Run work in a thread; a cancellation is passed on, and ends all its processes.

    Raises:
        CallCancelledError: the work was cancelled, but this call was not.
    """
    relay = _ProgressRelay(tell)
    watch = CallControl(cancel=Event(), progress=None if tell is None else relay.put)

    async def pass_cancellation_on() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            watch.cancel.set()

    def none_if_interrupted() -> JsonObject | None:
        try:
            return work(watch)
        # The sandbox's command was cancelled.
        except RunCancelled:
            return None

    async with anyio.create_task_group() as group:
        group.start_soon(pass_cancellation_on)
        group.start_soon(relay.pass_on)
        answer = await anyio.to_thread.run_sync(none_if_interrupted, limiter=limiter)
        await relay.flush()
        group.cancel_scope.cancel()
    if answer is None:
        # Raises if this call was cancelled.
        await anyio.lowlevel.checkpoint()
        raise CallCancelledError
    return answer


class _ProgressRelay:
    def __init__(self, tell: ProgressReporter | None) -> None:
        self._tell = tell
        self._latest: RunProgress | None = None
        self._told = -1

    def put(self, progress: RunProgress) -> None:
        self._latest = progress

    async def flush(self) -> None:
        # The protocol requires progress to increase.
        latest = self._latest
        if self._tell is not None and latest is not None and latest.done > self._told:
            self._told = latest.done
            await self._tell(latest)

    async def pass_on(self) -> None:
        while self._tell is not None:
            await anyio.sleep(_POLL_SECONDS)
            await self.flush()


async def answer_errors(
    work: Callable[[], Awaitable[JsonObject]],
    invalid: Callable[[Sequence[str]], JsonObject],
    broken: Callable[[str], JsonObject],
) -> JsonObject:
    """The result of a call; answers to invalid arguments, and to a bug with its incident."""
    try:
        return await work()
    except arguments.InvalidArgumentsError as error:
        return invalid(error.faults)
    # A bug must neither end the server nor reveal its traceback (docs/decisions/0005).
    except Exception:
        incident = secrets.token_hex(_INCIDENT_BYTES)
        _logger.error("incident %s", incident, exc_info=True)
        return broken(incident)


class ToolSet(Protocol):
    """Further tools, which an extension offers."""

    @property
    def offered(self) -> Sequence[NamedTool]:
        """The tools that are listed."""

    @property
    def known(self) -> Sequence[NamedTool]:
        """These, and those that are only answered with what they lack."""

    @property
    def instructions(self) -> str:
        """What the server says of them to a client's model."""

    async def answer(
        self, tool: NamedTool, raw_arguments: Mapping[str, object] | None
    ) -> JsonObject:
        """The answer to a call of one of them."""

    def protocol_error(self, answer: JsonObject) -> MCPError:
        """A JSON-RPC error with an answer that is an error."""


MakeToolSet = Callable[[str, PathMask], ToolSet]
"""What an extension offers: makes its tools for the name of a sandbox and a mask of paths."""


def make_server(
    project: PytestProject, error_mode: ErrorMode, *, version: str, more: Sequence[ToolSet] = ()
) -> Server[object]:
    """A server for one project; each call is complete in itself.

    Args:
        project: The project to test.
        error_mode: How errors are sent to the client.
        version: The version of agentbench.
        more: The tools of extensions.
    """
    handlers = _Handlers(project, error_mode, more)
    return Server(
        "agentbench",
        version=version,
        title="agentbench: run tests, see what the judge sees",
        instructions=INSTRUCTIONS + "".join(tools.instructions for tools in more),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


class _Handlers:
    def __init__(
        self, project: PytestProject, error_mode: ErrorMode, more: Sequence[ToolSet]
    ) -> None:
        self._project = project
        self._error_mode = error_mode
        self._limiter = anyio.CapacityLimiter(project.runs_at_once)
        self._more = {tool: tools for tools in more for tool in tools.known}
        self._tools = (*PytestTool, *(tool for tools in more for tool in tools.offered))

    async def list_tools(
        self, _context: ServerRequestContext[object], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        isolated = self._project.isolated
        tools = [describe_tool(one, isolated=isolated) for one in self._tools]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: ServerRequestContext[object], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer one call.

        Raises:
            MCPError: there is no such tool, or errors are sent as JSON-RPC errors.
        """
        tools: Iterable[NamedTool] = (*PytestTool, *self._more)
        tool = next((tool for tool in tools if tool.value == params.name), None)
        if tool is None:
            name = arguments.escaped_name(params.name)
            message = f"there is no tool {name}; known: {', '.join(self._tools)}"
            raise MCPError(envelope.INVALID_PARAMS, message)
        if isinstance(tool, PytestTool):
            # A client that wants progress gives a token for it.
            wants_progress = context.meta is not None and "progress_token" in context.meta

            async def tell(progress: RunProgress) -> None:
                message = f"{progress.done} of {progress.collected} tests"
                await context.session.report_progress(progress.done, progress.collected, message)

            async def work() -> JsonObject:
                parsed = arguments.read_arguments(tool.arguments, params.arguments)
                call = partial(pytest_tools.call_pytest_tool, self._project, parsed)
                return await run_in_thread(
                    call, limiter=self._limiter, tell=tell if wants_progress else None
                )

            answer = await answer_errors(work, invalid_arguments, pytest_tools.internal_error)
            as_error = _as_protocol_error
        else:
            answer = await self._more[tool].answer(tool, params.arguments)
            as_error = self._more[tool].protocol_error
        if self._error_mode is ErrorMode.JSONRPC and pytest_tools.is_error(answer):
            raise as_error(answer)
        return pytest_tools.call_result(answer)


def _as_protocol_error(answer: JsonObject) -> MCPError:
    """The error of an answer, with the results of finished tests."""
    error = envelope.ErrorObject.model_validate(answer["error"])
    names = [name for name in envelope.SERIALIZED_FIELDS if name not in _FIELDS_IN_ERROR]
    data = error.data.model_dump(mode="json", exclude_defaults=True)
    result = {name: answer[name] for name in names}
    return MCPError(error.code, error.message, {**data, "result": result})
