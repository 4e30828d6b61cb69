"""A program beside a command: what it says and hears passes whole, both ways, and in bounds."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import trustme

from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container import StartedExec
from agentbench.sandbox.docker.sandbox import running_sidecar
from agentbench.sandbox.interface import Sidecar

PATIENCE = 60.0
BIG = bytes(range(256)) * 40_000  # 10 MB


class _Container:
    """Has one program started, whose engine is the test."""

    def __init__(self, ends: tuple[socket.socket, socket.socket] | None = None) -> None:
        self.ours, self.engines = ends or socket.socketpair()
        self.engines.settimeout(PATIENCE)
        self.began: list[list[str]] = []

    def begin(self, argv: list[str], _env: dict[str, str]) -> StartedExec:
        self.began.append(argv)
        return StartedExec(id="x", stream=AttachedStream(self.ours))


@pytest.fixture
def container() -> Iterator[_Container]:
    made = _Container()
    with made.ours, made.engines:
        yield made


def _by_tls() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection under TLS."""
    ca = trustme.CA()
    server, client = (
        ssl.SSLContext(kind) for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    )
    ca.issue_cert("engine").configure_cert(server)
    ca.configure_trust(client)
    ours, engines = socket.socketpair()
    shaken: list[socket.socket] = []
    shaking = threading.Thread(
        target=lambda: shaken.append(server.wrap_socket(engines, server_side=True))
    )
    shaking.start()
    wrapped = client.wrap_socket(ours, server_hostname="engine")
    shaking.join()
    return wrapped, shaken[0]


@contextmanager
def attended(container: _Container) -> Iterator[socket.socket]:
    """The harness's end of the program's streams."""
    held: list[socket.socket] = []

    @contextmanager
    def attend(stream: socket.socket) -> Iterator[None]:
        stream.settimeout(PATIENCE)
        held.append(stream)
        yield

    with running_sidecar(container, Sidecar(argv=("x",), attend=attend)):  # type: ignore[arg-type]
        yield held[0]


def framed(data: bytes, kind: int = 1) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


def read(connection: socket.socket, size: int) -> bytes:
    with connection.makefile("rb") as reading:
        return reading.read(size)


def test_what_is_said_passes_both_ways_at_once(container: _Container) -> None:
    with attended(container) as stream:
        writers = [
            threading.Thread(target=container.engines.sendall, args=(framed(BIG),)),
            threading.Thread(target=stream.sendall, args=(BIG,)),
        ]
        heard: list[bytes] = []
        reader = threading.Thread(target=lambda: heard.append(read(container.engines, len(BIG))))
        for thread in (*writers, reader):
            thread.start()
        assert read(stream, len(BIG)) == BIG
        for thread in (*writers, reader):
            thread.join()
    assert heard == [BIG]
    assert container.began == [["x"]]


def test_under_tls_all_of_it_passes_both_ways() -> None:
    container = _Container(_by_tls())
    with container.ours, container.engines, attended(container) as stream:
        sending = threading.Thread(target=stream.sendall, args=(BIG,))
        sending.start()
        assert read(container.engines, len(BIG)) == BIG
        sending.join()
        sending = threading.Thread(target=container.engines.sendall, args=(framed(BIG),))
        sending.start()
        assert read(stream, len(BIG)) == BIG
        sending.join()


def test_complaints_are_left_out(container: _Container) -> None:
    with attended(container) as stream:
        container.engines.sendall(framed(b"a") + framed(b"oh", kind=2) + framed(b"b"))
        assert read(stream, 2) == b"ab"


def test_what_nobody_reads_is_held_in_bounds(container: _Container) -> None:
    with attended(container):
        assert _sent_until_nothing_goes(container.engines, at_most=16 << 20) < 16 << 20


def _sent_until_nothing_goes(connection: socket.socket, *, at_most: int) -> int:
    connection.settimeout(0.5)  # too little for a slow pump only means that less is sent
    sent = 0
    with suppress(TimeoutError):
        while sent < at_most:
            sent += connection.send(framed(b"x" * 65536))
    return sent


def test_when_the_engine_ends_the_rest_arrives_and_then_the_end(container: _Container) -> None:
    with attended(container) as stream:
        container.engines.sendall(framed(b"last"))
        container.engines.shutdown(socket.SHUT_RDWR)
        assert stream.recv(100) == b"last"
        assert stream.recv(100) == b""


def test_when_nobody_attends_any_more_the_program_is_let_go(container: _Container) -> None:
    with attended(container) as stream:
        stream.shutdown(socket.SHUT_RDWR)
        assert container.engines.recv(1) == b""


def test_with_the_command_it_ends(container: _Container) -> None:
    with attended(container):
        pass
    assert container.engines.recv(1) == b""
    assert "agentbench-sidecar" not in {thread.name for thread in threading.enumerate()}
