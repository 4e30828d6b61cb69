"""Sockets come and go in one loop; connections are bounded, and cut at the end."""

import asyncio
import gzip
import socket
import zlib
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from agentbench.models.gateway import http_server as module
from agentbench.models.gateway.http_server import (
    ClientDisconnectedError,
    ClientRequest,
    RequestTooLargeError,
    UnknownEncodingError,
    serve_on,
    tcp_listener,
    unix_listener,
)
from agentbench.sandbox.relay import LoopThread
from tests.patience import HANG_SECONDS

HELLO = b"GET /%s HTTP/1.1\r\nhost: x\r\n\r\n"


async def application(scope, receive, send) -> None:
    """Says the path; `/hang` never answers, `/cut` breaks off."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode(), "more_body": True})
    if scope["path"] == "/cut":
        ClientRequest(scope, receive, send).cut()
        return
    if scope["path"] == "/hang":
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def served(listener: socket.socket):
    loop, stack = LoopThread(), AsyncExitStack()
    try:
        loop.run(stack.enter_async_context(serve_on(listener, application)))
        yield
        loop.run(stack.aclose())
    finally:
        loop.close()


@contextmanager
def connected(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(HANG_SECONDS)
        client.connect(address)
        yield client


def answer(client: socket.socket) -> bytes:
    result = b""
    while not result.endswith(b"0\r\n\r\n"):
        part = client.recv(65536)
        if not part:
            break
        result += part
    return result


def test_unix_socket_and_port_are_served(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for listener in (unix_listener(path), tcp_listener(0)):
        with served(listener):
            address = str(path) if listener.family == socket.AF_UNIX else listener.getsockname()
            with connected(address) as client:
                for name in (b"one", b"two"):  # on one connection
                    client.sendall(HELLO % name)
                    assert b"/" + name in answer(client)


def test_small_chunks_are_sent_at_once() -> None:
    listener = tcp_listener(0)
    found = []

    async def look(scope, receive, send) -> None:
        transport = scope["state"]["connection"].transport
        raw = transport.get_extra_info("socket")
        found.append(raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await application(scope, receive, send)

    loop, stack = LoopThread(), AsyncExitStack()
    loop.run(stack.enter_async_context(serve_on(listener, look)))
    with connected(listener.getsockname()) as client:
        client.sendall(HELLO % b"")
        answer(client)
    loop.run(stack.aclose())
    loop.close()
    assert found == [1]


def test_truncated_answer_is_incomplete(tmp_path: Path) -> None:
    with served(unix_listener(tmp_path / "s")), connected(str(tmp_path / "s")) as client:
        client.sendall(HELLO % b"cut")
        assert not answer(client).endswith(b"0\r\n\r\n")


def test_shutdown_closes_every_connection(tmp_path: Path) -> None:
    with served(unix_listener(tmp_path / "s")):
        idle = socket.socket(socket.AF_UNIX)
        busy = socket.socket(socket.AF_UNIX)
        for client in (idle, busy):
            client.settimeout(HANG_SECONDS)
            client.connect(str(tmp_path / "s"))
        busy.sendall(HELLO % b"hang")
        assert busy.recv(65536)
    for client in (idle, busy):
        assert client.recv(65536) in {b"", b"5\r\n/hang\r\n"}
        client.close()


def test_malformed_http_is_answered_and_not_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(unix_listener(tmp_path / "s")), connected(str(tmp_path / "s")) as client:
        client.sendall(b"\x16\x03\x01 no http at all\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 400")
    assert capfd.readouterr() == ("", "")


def test_surplus_connection_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 2)
    with served(unix_listener(tmp_path / "s")):
        clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for client in clients:
            client.settimeout(HANG_SECONDS)
            client.connect(str(tmp_path / "s"))
        assert clients[2].recv(1) == b""
        clients[0].sendall(HELLO % b"fine")
        assert b"/fine" in answer(clients[0])
        for client in clients:
            client.close()


def test_address_in_use_is_reported(tmp_path: Path) -> None:
    with unix_listener(tmp_path / "s"), tcp_listener(0) as taken:
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            unix_listener(tmp_path / "s")
        with pytest.raises(OSError, match="in use"):
            tcp_listener(taken.getsockname()[1])


def read(*parts: bytes | None, limit: int = 100, **headers: str) -> bytes:
    """The body that comes in these parts; None: the client goes away."""
    messages = [
        {"type": "http.disconnect"}
        if part is None
        else {"type": "http.request", "body": part, "more_body": at < len(parts) - 1}
        for at, part in enumerate(parts)
    ]
    coming = iter(messages)

    async def receive():
        return next(coming)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": "POST", "path": "/", "query_string": b"", "headers": named}
    return asyncio.run(ClientRequest(scope, receive, send=None).body(limit))


def test_parts_are_put_together() -> None:
    assert read(b"a", b"", b"bc") == b"abc"
    assert read(b"x" * 100) == b"x" * 100


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_compressed_body_is_unpacked(pack) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"
    assert read(pack(b"abc"), content_encoding=coding) == b"abc"


def test_too_large_body_is_refused_unread() -> None:
    with pytest.raises(RequestTooLargeError):
        read(content_length="101")
    with pytest.raises(RequestTooLargeError):
        read(b"x" * 60, b"x" * 60, b"never asked for")
    with pytest.raises(RequestTooLargeError):
        read(gzip.compress(b"x" * 1000), content_encoding="gzip")


@pytest.mark.parametrize("coding", ["zstd", "br", "gzip, gzip"])
def test_unknown_encoding_is_named(coding: str) -> None:
    with pytest.raises(UnknownEncodingError, match=coding):
        read(b"abc", content_encoding=coding)


def test_truncated_body_is_reported() -> None:
    with pytest.raises(UnknownEncodingError):
        read(b"abc", content_encoding="gzip")
    with pytest.raises(UnknownEncodingError, match="incomplete"):
        read(gzip.compress(b"abc")[:-4], content_encoding="gzip")


def test_client_that_leaves_is_disconnected() -> None:
    with pytest.raises(ClientDisconnectedError):
        read(b"a", None)
