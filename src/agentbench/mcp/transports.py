"""The transports of the MCP server: standard streams, and HTTP with a token."""

import contextlib
import hmac
import ipaddress
import json
import os
import socket
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from threading import Thread
from typing import TextIO, cast

import anyio
import anyio.from_thread
import anyio.lowlevel
import uvicorn
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from pydantic import AnyHttpUrl, ValidationError
from pydantic_core import ErrorDetails

from agentbench.errors import UsageError

_CHUNK = 1 << 16
PATH = "/mcp"  # the path of the server
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SHUTDOWN_SECONDS = 2  # seconds for running answers
_BACKLOG = 128


async def serve_stdio(server: Server[object]) -> None:
    """Serve one client until it closes stdin or stops reading."""
    # Child processes must not read from the client.
    private = os.dup(sys.stdin.fileno())
    _redirect_to_null(sys.stdin)
    lines = _lines_of(private)

    # The SDK's own reader cannot be cancelled, so that a server which stops would wait for its
    # client. It also drops invalid messages, for which JSON-RPC requires an error.
    async def no_lines() -> AsyncIterator[str]:
        return
        yield

    nothing = cast("anyio.AsyncFile[str]", no_lines())  # only its lines are used
    try:
        async with stdio_server(stdin=nothing) as (_, write), anyio.create_task_group() as group:
            send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(_read_messages, lines, send, write.send)
            await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        # Python would fail when it flushes at its end what the client no longer reads.
        _redirect_to_null(sys.stdout)


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
            # A request with an invalid id, which the SDK takes for a notification.
            if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(line):
                await answer(SessionMessage(_jsonrpc_error(())))
                continue
            await send.send(SessionMessage(message))


def _jsonrpc_error(faults: Iterable[ErrorDetails]) -> types.JSONRPCError:
    """The JSON-RPC error for a line without a readable id."""
    if any(fault["type"] == "json_invalid" for fault in faults):
        error = types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
    else:
        error = types.ErrorData(code=types.INVALID_REQUEST, message="Invalid request")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _redirect_to_null(stream: TextIO) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


async def _lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """The lines of a descriptor, read by a daemon thread."""
    send, receive = anyio.create_memory_object_stream[bytes](float("inf"))
    token = anyio.lowlevel.current_token()

    def read() -> None:
        pending: list[bytes] = []
        # The server may have ended.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.RunFinishedError):
            while chunk := os.read(descriptor, _CHUNK):
                *ended, rest = chunk.split(b"\n")
                for part in ended:
                    line = b"".join((*pending, part))
                    anyio.from_thread.run_sync(send.send_nowait, line, token=token)
                    pending.clear()
                pending.append(rest)
            anyio.from_thread.run_sync(send.close, token=token)

    Thread(target=read, daemon=True).start()
    async with receive:
        async for line in receive:
            yield line


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAddress:
    """The address to listen on, and the token that clients need."""

    host: str
    port: int  # 0: any free port
    token: str


async def serve_http(
    server: Server[object], address: HttpAddress, announce: Callable[[str], None]
) -> None:
    """Serve clients until a signal; `announce` gets the URL.

    Raises:
        UsageError: the address is not available.
    """
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        (family, *_, socket_address), *_ = found
        bound = socket.create_server(socket_address[:2], family=family, backlog=_BACKLOG)
    except OSError as fault:
        raise UsageError(
            f"cannot listen on {address.host}:{address.port}: {fault.strerror or fault}"
        ) from fault
    with closing(bound) as listener:
        port = listener.getsockname()[1]
        app = _app(server, address, port)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=_SHUTDOWN_SECONDS
        )
        announce(f"http://{_host_in_url(address.host)}:{port}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


def _app(server: Server[object], address: HttpAddress, port: int) -> Callable[..., object]:
    """The application: Host and Origin are checked against DNS rebinding, then the token."""
    hosts = [f"{host}:{port}" for host in dict.fromkeys((*_LOOPBACK, _host_in_url(address.host)))]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
        # The SDK requires an issuer; the server names itself.
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(f"http://{_host_in_url(address.host)}:{port}"),
            resource_server_url=None,
        ),
        token_verifier=_SingleTokenVerifier(address.token),
    )


class _SingleTokenVerifier(TokenVerifier):
    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        # In constant time, so that its duration tells nothing about the token.
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        return AccessToken(token=token, client_id="agentbench", scopes=[])


def _host_in_url(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
