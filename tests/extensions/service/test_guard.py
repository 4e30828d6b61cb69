"""Slow clients, on a real server with short limits."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from agentbench.core.access_policy import AccessPolicy
from agentbench.extensions.service import server as server_module
from agentbench.extensions.service.guard import RequestGuard, RequestLimits
from agentbench.extensions.service.server import TimedProtocol
from tests.patience import HANG_SECONDS, wait_until

_LIMITS = RequestLimits(max_body_bytes=1 << 20, grace_seconds=0.3, min_bytes_per_second=1 << 20)


async def echo_size(scope, receive, send) -> None:
    """Answers with the size of the body, or with an endless answer at /endless."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while scope["path"] == "/endless":
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
    await send({"type": "http.response.body", "body": str(size).encode()})


@pytest.fixture
def answers() -> list[int]:
    return []


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, answers: list[int]) -> Iterator[int]:
    monkeypatch.setattr(server_module, "_FIRST_REQUEST_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = listener.getsockname()[1]
        policy = AccessPolicy(host="127.0.0.1", port=found)
        app = RequestGuard(
            echo_size, policy, _LIMITS, lambda _scope, status, _seconds: answers.append(status)
        )
        config = uvicorn.Config(
            app, http=TimedProtocol, lifespan="off", log_config=None, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True
        )
        thread.start()
        yield found
        server.should_exit = True
        thread.join(HANG_SECONDS)


def head(*lines: str, path: str = "/") -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)


def everything(connection: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionError:
        pass
    return received


def test_a_body_that_does_not_come_is_refused(port: int, answers: list[int]) -> None:
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 100") + b"only this")
        received = everything(connection)
    assert received.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in received
    assert b"/problems/too-slow" in received
    assert answers == [408]


def test_a_complete_body_is_read(port: int, answers: list[int]) -> None:
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 1048576", "Connection: close") + b"x" * (1 << 20))
        assert everything(connection).endswith(b"\r\n1048576\r\n0\r\n\r\n")
    assert answers == [200]


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nHost: local"], ids=["nothing", "half"])
def test_a_connection_without_a_request_is_closed(port: int, sent: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(sent)
        assert everything(connection) == b""


def test_a_client_that_does_not_read_is_dropped(port: int, answers: list[int]) -> None:
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 0", path="/endless"))
        wait_until(lambda: answers == [200])  # the endless answer has ended
