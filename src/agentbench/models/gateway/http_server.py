"""Serves plain HTTP on sockets that open and close, one for each endpoint, and reads requests."""

import asyncio
import hmac
import json
import logging
import socket
import zlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]
"""The four types of ASGI."""

MAX_CONNECTIONS = 512
"""The most connections on one socket; further ones are closed, so that no attempt takes all."""

_KEEP_ALIVE_S = 120
_SHUTDOWN_SECONDS = 2.0
_BACKLOG = 1024
# Our own logger, since uvicorn's would also log errors of an agent's requests.
_LOG = logging.getLogger("agentbench.gateway")
_LOG.setLevel(logging.ERROR)
_TOKEN_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


@asynccontextmanager
async def serve_on(listener: socket.socket, application: Application) -> AsyncIterator[None]:
    """Serve on a bound socket; at the end every connection is cut."""
    state = ServerState()
    config = Config(
        application,
        http=H11Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )
    config.load()
    loop = asyncio.get_running_loop()
    kind = loop.create_unix_server if listener.family == socket.AF_UNIX else loop.create_server
    server = await kind(lambda: _HttpConnection(config, state), sock=listener, backlog=_BACKLOG)
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await _end_requests(set(state.tasks))


def unix_listener(path: Path) -> socket.socket:
    """A socket at a path that any user of this machine may connect to.

    Raises:
        OSError: it cannot be created.
    """
    listener = _bound(socket.socket(socket.AF_UNIX), str(path))
    path.chmod(0o666)
    return listener


def tcp_listener(port: int) -> socket.socket:
    """A socket on a port of 127.0.0.1; 0: any free port.

    Raises:
        OSError: the port is in use.
    """
    # With its protocol named, asyncio sets TCP_NODELAY.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bound(listener, ("127.0.0.1", port))


class _HttpConnection(H11Protocol):
    """One connection, which its requests can abort."""

    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config=config, server_state=state, app_state={"connection": self})
        self.logger = _LOG

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection unless there are too many."""
        # All sockets here are stream sockets.
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()


def _bound(listener: socket.socket, address: str | tuple[str, int]) -> socket.socket:
    try:
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


async def _end_requests(tasks: set[asyncio.Task[None]]) -> None:
    """Tell requests that their clients are gone, and cancel those that do not end."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=_SHUTDOWN_SECONDS)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)


class RequestTooLargeError(Exception):
    """The body exceeds the gateway's limit."""


class UnknownEncodingError(Exception):
    """The body has an unknown content encoding."""


class ClientDisconnectedError(Exception):
    """The client disconnected during the request."""


def parse_and_rewrite(body: bytes) -> tuple[JsonObject | None, bytes]:
    """A body parsed as JSON and written again, so that the provider reads what was checked here.

    A provider might read duplicate names or invalid text differently. None: the body cannot be
    parsed or written.
    """
    read = json_object(body.decode("utf-8", "replace"))
    try:
        return read, b"" if read is None else json.dumps(read).encode()
    except RecursionError:
        return None, b""


def _unpacked(body: bytes, coding: str, limit: int) -> bytes:
    if coding.lower() in {"", "identity"}:
        return body
    if coding.lower() not in {"gzip", "x-gzip", "deflate"}:
        raise UnknownEncodingError(f"content-encoding {coding!r}: send it as it is, or in gzip")
    worker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # zlib or gzip
    try:
        unpacked = worker.decompress(body, limit + 1)
    except zlib.error as fault:
        raise UnknownEncodingError(f"the body is not {coding}: {fault}") from fault
    if len(unpacked) > limit:
        raise RequestTooLargeError
    if not worker.eof:
        raise UnknownEncodingError(f"the body is incomplete {coding}")
    return unpacked


class ClientRequest:
    """One request of one client."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]]
        self.answer_started = False  # its head was sent
        self.done = False

    def header(self, name: str) -> str:
        """The value of a header; empty if it is missing."""
        return next((value for each, value in self.headers if each == name), "")

    def has_token(self, token: str) -> bool:
        """Whether it has the token, in any place where clients put their keys."""
        scheme, _, bearer = self.header("authorization").partition(" ")
        tokens = [bearer if scheme.lower() == "bearer" else ""]
        tokens += [self.header(name) for name in _TOKEN_HEADERS]
        tokens += parse_qs(self.query).get("key", [])
        expected = token.encode()
        return any(
            hmac.compare_digest(each.encode("utf-8", "replace"), expected) for each in tokens
        )

    async def body(self, limit: int) -> bytes:
        """The decoded body.

        Raises:
            RequestTooLargeError: it exceeds the limit, encoded or decoded.
            UnknownEncodingError: its encoding is not gzip, or it is damaged.
            ClientDisconnectedError: the client disconnected.
        """
        announced = self.header("content-length")
        if announced.isdecimal() and int(announced) > limit:
            raise RequestTooLargeError
        parts, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientDisconnectedError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > limit:
                raise RequestTooLargeError
        return _unpacked(b"".join(parts), self.header("content-encoding"), limit)

    async def wait_for_disconnect(self) -> None:
        """Wait until the client disconnects or has the whole answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start_answer(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head of the answer."""
        self.answer_started = True
        coded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": coded})

    async def send_chunk(self, data: bytes, *, last: bool = False) -> None:
        """Send a part of the answer."""
        self.done |= last
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def answer(
        self, status: int, data: bytes, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a whole answer."""
        await self.start_answer(status, [*headers, ("content-length", str(len(data)))])
        await self.send_chunk(data, last=True)

    async def answer_json(
        self, status: int, value: JsonObject, headers: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        """Send a whole answer of the gateway; returns its body."""
        data = json.dumps(value).encode()
        await self.answer(status, data, [("content-type", "application/json"), *headers])
        return data

    def cut(self) -> None:
        """Abort the connection, so that the client sees that the answer is incomplete."""
        self._scope["state"]["connection"].transport.abort()
