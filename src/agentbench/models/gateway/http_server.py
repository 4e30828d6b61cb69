"""Serves plain HTTP on sockets that open and close, by uvicorn's protocol.

Each endpoint has its own socket, which shows to which attempt a request belongs.
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
"""The four types of ASGI."""

MAX_CONNECTIONS = 512
"""The most connections on one socket; further ones are closed, so that no attempt takes all."""

_KEEP_ALIVE_S = 120
_SHUTDOWN_SECONDS = 2.0
_BACKLOG = 1024
# Not uvicorn's own logger: errors of an agent's requests are not logged, our own are.
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
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bound(made, ("127.0.0.1", port))


def abort_connection(scope: Scope) -> None:
    """Abort a request's connection, so that its client sees that the answer is incomplete."""
    scope["state"]["connection"].transport.abort()


class _HttpConnection(H11Protocol):
    """One connection, which its requests can abort."""

    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config=config, server_state=state, app_state={"connection": self})
        self.logger = _LOG

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # all sockets here are stream sockets
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
    """Tell requests that their clients are gone, and cancel those that do not end."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=_SHUTDOWN_SECONDS)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)
