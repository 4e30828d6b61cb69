"""The web page on a socket, until told to stop."""

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from agentbench.view.app import make_app
from agentbench.view.door import Guard

_STOPS_WITHIN = 2  # seconds that answers under way get
_KEEP_ALIVE = 30  # seconds


async def serve(
    root: Path,
    guard: Guard,
    listener: socket.socket,
    announce: Callable[[], None],
    *,
    processes: int = 1,
) -> None:
    """Answer until a signal comes.

    Args:
        root: The folder of runs.
        guard: Whom it answers.
        listener: A socket that listens already, so that nobody who is told of it comes too early.
        announce: Is called once it is about to answer.
        processes: How many may read a very large run.
    """
    config = uvicorn.Config(
        make_app(root, guard, processes=processes),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_STOPS_WITHIN,
    )
    announce()
    await uvicorn.Server(config).serve(sockets=[listener])
