"""Hosts on loopback that do not do what they should."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_host() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
