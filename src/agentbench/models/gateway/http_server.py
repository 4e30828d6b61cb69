"""Plain HTTP on sockets that come and go, by uvicorn's protocol.

Each endpoint has a socket of its own, so that a request on it is known to be of one attempt.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]
"""ASGI's four."""

MAX_CONNECTIONS = 512
"""On one socket at a time; one more is closed at once, so that no attempt takes all there are."""

_KEEP_ALIVE_S = 120
_SHUTDOWN_SECONDS = 2.0
_BACKLOG = 1024
# Not uvicorn's own logger: what an agent sends wrongly is no news, what we do wrongly is.
_LOG = logging.getLogger("agentbench.gateway")
_LOG.setLevel(logging.ERROR)


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
        OSError: it cannot be made there.
    """
    listener = _bound(socket.socket(socket.AF_UNIX), str(path))
    path.chmod(0o666)
    return listener


def tcp_listener(port: int) -> socket.socket:
    """A socket on a port of 127.0.0.1; 0: any that is free.

    Raises:
        OSError: the port is not to be had.
    """
    # With its protocol named, asyncio sends small pieces at once (TCP_NODELAY).
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bound(made, ("127.0.0.1", port))


def abort_connection(scope: Scope) -> None:
    """Break a request's connection off, so that its client sees the answer is not whole."""
    scope["state"]["connection"].transport.abort()


class _HttpConnection(H11Protocol):
    """One connection; requests on it can reach it, to cut it."""

    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config=config, server_state=state, app_state={"connection": self})
        self.logger = _LOG

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take it, if there is room."""
        assert isinstance(transport, asyncio.Transport)  # of a stream, as all sockets here
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()


def _bound(made: socket.socket, address: str | tuple[str, int]) -> socket.socket:
    try:
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


async def _end_requests(tasks: set[asyncio.Task[None]]) -> None:
    """Let requests see that their clients are gone; cancel what does not."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=_SHUTDOWN_SECONDS)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)
