"""The server over stdin and stdout, with our own thread that reads lines.

The SDK's reader cannot be cancelled, so a stopping server would wait for its client, and it drops
invalid messages, for which JSON-RPC requires an error.
"""

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from threading import Thread
from typing import TextIO, cast

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import ErrorDetails

_CHUNK = 1 << 16


async def serve_stdio(server: Server[object]) -> None:
    """Serve one client until it closes stdin or stops reading."""
    try:
        await _serve_client(server)
    except* BrokenPipeError:
        _turn_to_null(sys.stdout)  # to drop unflushed output, which the client does not read


async def _serve_client(server: Server[object]) -> None:
    lines = _lines_of(_take_over_stdin())
    nothing = cast("anyio.AsyncFile[str]", _no_lines())  # only its lines are used
    async with stdio_server(stdin=nothing) as (_, write), anyio.create_task_group() as group:
        send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        group.start_soon(_read_messages, lines, send, write.send)
        await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _read_messages(
    lines: AsyncIterable[bytes],
    send: MemoryObjectSendStream[SessionMessage | Exception],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Forward messages, and answer invalid ones with an error."""
    async with send:
        async for line in lines:
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as fault:
                await answer(SessionMessage(_jsonrpc_error(fault.errors(include_input=False))))
                continue
            if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(line):
                await answer(SessionMessage(_jsonrpc_error(())))  # a request with an invalid id
                continue
            await send.send(SessionMessage(message))


def _jsonrpc_error(faults: Iterable[ErrorDetails]) -> types.JSONRPCError:
    """The JSON-RPC error for a line without a readable id."""
    if any(fault["type"] == "json_invalid" for fault in faults):
        error = types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
    else:
        error = types.ErrorData(code=types.INVALID_REQUEST, message="Invalid request")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _turn_to_null(stream: TextIO) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


async def _no_lines() -> AsyncIterator[str]:
    return
    yield


def _take_over_stdin() -> int:
    """A private descriptor of stdin, so that child processes read nothing from it."""
    own = os.dup(sys.stdin.fileno())
    _turn_to_null(sys.stdin)
    return own


async def _lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """The lines of a descriptor, read by a daemon thread."""
    send, receive = anyio.create_memory_object_stream[bytes](float("inf"))
    token = anyio.lowlevel.current_token()

    def read() -> None:
        over = (anyio.BrokenResourceError, anyio.RunFinishedError)  # the server has ended
        with contextlib.suppress(*over):
            for line in _split(descriptor):
                anyio.from_thread.run_sync(send.send_nowait, line, token=token)
            anyio.from_thread.run_sync(send.close, token=token)

    Thread(target=read, daemon=True).start()
    async with receive:
        async for line in receive:
            yield line


def _split(descriptor: int) -> Iterator[bytes]:
    held: list[bytes] = []
    while chunk := os.read(descriptor, _CHUNK):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield b"".join((*held, part))
            held.clear()
        held.append(rest)
