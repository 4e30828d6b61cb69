"""The server over stdin and stdout.

Lines are read by a thread of ours: the SDK's own reader blocks in a read that nothing ends, so
that a server that is told to stop would wait for its client; and it drops what is no JSON-RPC
without a word, where JSON-RPC wants an error.
"""

import os
import sys
from collections.abc import AsyncIterator
from threading import Thread
from typing import cast

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_CHUNK = 1 << 16

Incoming = SessionMessage | Exception


async def serve(server: Server[object]) -> None:
    """Serve one client until it closes stdin."""
    lines = _Lines(_claimed_stdin())
    stdin = cast("anyio.AsyncFile[str]", lines)  # all that is asked of it is lines
    async with stdio_server(stdin=stdin) as (read, write), anyio.create_task_group() as group:
        whole, checked = anyio.create_memory_object_stream[Incoming](0)
        group.start_soon(_answer_malformed, read, whole, write)
        await server.run(checked, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _answer_malformed(
    read: MemoryObjectReceiveStream[Incoming],
    whole: MemoryObjectSendStream[Incoming],
    write: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Pass messages on, and answer what is none."""
    async with whole:
        async for item in read:
            if isinstance(item, Exception):
                await write.send(SessionMessage(_refusal(item)))
            else:
                await whole.send(item)


def _refusal(fault: Exception) -> JSONRPCError:
    """What JSON-RPC answers a line with whose id it cannot know."""
    kinds = fault.errors() if isinstance(fault, ValidationError) else ()
    if any(kind["type"] == "json_invalid" for kind in kinds):
        error = ErrorData(code=PARSE_ERROR, message="Parse error")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="Invalid request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _claimed_stdin() -> int:
    """A descriptor of stdin that is ours alone; what we start reads nothing there."""
    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return own


class _Lines:
    """Lines of a descriptor, read by a thread that ends with the process if need be."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream[str](float("inf"))
        token = anyio.lowlevel.current_token()
        Thread(target=self._read, args=(send, token), daemon=True).start()
        async with receive:
            async for line in receive:
                yield line

    def _read(
        self, send: MemoryObjectSendStream[str], token: anyio.lowlevel.EventLoopToken
    ) -> None:
        held: list[bytes] = []
        while chunk := os.read(self._descriptor, _CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line = b"".join((*held, part))
                held.clear()
                anyio.from_thread.run_sync(
                    send.send_nowait, line.decode("utf-8", "replace"), token=token
                )
            held.append(rest)
        anyio.from_thread.run_sync(send.close, token=token)
