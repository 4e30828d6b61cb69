"""The server over stdin and stdout.

Lines are read by our own thread. The SDK's reader blocks in a read that cannot be cancelled, so a
stopping server would wait for its client, and it silently drops invalid messages, for which
JSON-RPC requires an error.
"""

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from threading import Thread
from typing import cast

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import ErrorDetails

_CHUNK = 1 << 16


async def serve_stdio(server: Server[object]) -> None:
    """Serve one client until it closes stdin or stops reading."""
    try:
        await _serve_client(server)
    except* BrokenPipeError:
        _redirect_stdout_to_null()


async def _serve_client(server: Server[object]) -> None:
    lines = _StdinLines(_take_over_stdin())
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
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as fault:
                await answer(SessionMessage(_jsonrpc_error(fault.errors(include_input=False))))
                continue
            if isinstance(message, JSONRPCNotification) and "id" in json.loads(line):
                await answer(SessionMessage(_jsonrpc_error(())))  # a request with an invalid id
                continue
            await send.send(SessionMessage(message))


def _jsonrpc_error(faults: Iterable[ErrorDetails]) -> JSONRPCError:
    """The JSON-RPC error for a line without a readable id."""
    if any(fault["type"] == "json_invalid" for fault in faults):
        error = ErrorData(code=PARSE_ERROR, message="Parse error")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="Invalid request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _redirect_stdout_to_null() -> None:
    """Drop unflushed output, since the client does not read it any more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


async def _no_lines() -> AsyncIterator[str]:
    return
    yield


def _take_over_stdin() -> int:
    """A private descriptor of stdin, so that child processes read nothing from it."""
    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return own


class _StdinLines:
    """The lines of a descriptor, read by a daemon thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[bytes]:
        send, receive = anyio.create_memory_object_stream[bytes](float("inf"))
        token = anyio.lowlevel.current_token()
        Thread(target=self._read, args=(send, token), daemon=True).start()
        async with receive:
            async for line in receive:
                yield line

    def _read(
        self, send: MemoryObjectSendStream[bytes], token: anyio.lowlevel.EventLoopToken
    ) -> None:
        over = (anyio.BrokenResourceError, anyio.RunFinishedError)  # the server has ended
        with contextlib.suppress(*over):
            for line in self._split():
                anyio.from_thread.run_sync(send.send_nowait, line, token=token)
            anyio.from_thread.run_sync(send.close, token=token)

    def _split(self) -> Iterator[bytes]:
        held: list[bytes] = []
        while chunk := os.read(self._descriptor, _CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                yield b"".join((*held, part))
                held.clear()
            held.append(rest)
