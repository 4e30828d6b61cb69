"""Connections through a carrier: all of them, whole, and none holding up another."""

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbench.sandbox.mounted import tunnel
from agentbench.sandbox.mounted.tunnel import (
    DATA,
    END,
    MAX_CONNECTIONS,
    OPEN,
    READY,
    START_MARK,
    WINDOW,
)
from agentbench.sandbox.relay import open_tunnel
from tests.models.gateway.unix_endpoint import UnixEndpoint, echo, flood, reset, unix_endpoint
from tests.patience import HANG_SECONDS, wait_until


@dataclass(frozen=True)
class Carried:
    socket: Path
    """Where clients come to."""
    process: subprocess.Popen[bytes]


@contextmanager
def carried(folder: Path, endpoint: Path, *, python: str = sys.executable) -> Iterator[Carried]:
    """A socket from which a carrier leads to an endpoint."""
    path = folder / "carried.sock"
    with _started(python, path) as process, _socket_to(process) as stream:
        with open_tunnel(stream, endpoint):
            yield Carried(path, process)
        process.kill()
        assert process.stderr is not None
        result = process.stderr.read().decode()
        assert result == "", result


@contextmanager
def _started(python: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    argv = [python, "-I", "-S", tunnel.__file__, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _socket_to(process: subprocess.Popen[bytes]) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()

    def feed() -> None:
        with suppress(OSError):
            while data := theirs.recv(65536):
                process.stdin.write(data)

    def drain() -> None:
        with suppress(OSError):
            while data := process.stdout.read(65536):
                theirs.sendall(data)
        theirs.shutdown(socket.SHUT_RDWR)

    threads = [threading.Thread(target=work) for work in (feed, drain)]
    with ours, theirs:
        for thread in threads:
            thread.start()
        try:
            yield ours
        finally:  # before the sockets are closed, also if the test has failed
            process.kill()
            for thread in threads:
                thread.join()


BIG = bytes(range(256)) * 20_000  # 5 MB, forty windows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "carried"
    folder.mkdir()
    return folder


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[UnixEndpoint]:
    with unix_endpoint(tmp_path / "endpoint", echo) as opened:
        yield opened


@pytest.fixture
def way(folder: Path, endpoint: UnixEndpoint) -> Iterator[Carried]:
    with carried(folder, endpoint.socket) as opened:
        yield opened


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(HANG_SECONDS)
    connection.connect(str(path))
    return connection


def rest_of(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 20), b""))


def said_back(path: Path, data: bytes) -> bytes:
    with connect(path) as connection:
        sending = threading.Thread(target=lambda: _send(connection, data))
        sending.start()
        heard = rest_of(connection)
        sending.join()
    return heard


def _send(connection: socket.socket, data: bytes) -> None:
    with suppress(ConnectionError):  # then what is heard tells
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def test_both_directions_of_connection_end_separately(way: Carried) -> None:
    assert said_back(way.socket, b"hello") == b"helloend"
    assert said_back(way.socket, b"") == b"end"
    assert said_back(way.socket, BIG) == BIG + b"end"


def test_hundreds_of_connections_do_not_mix(way: Carried) -> None:
    with ThreadPoolExecutor(200) as pool:
        asked = [f"{number:05d}".encode() * 2000 for number in range(400)]
        heard = list(pool.map(lambda data: said_back(way.socket, data), asked))
    assert heard == [data + b"end" for data in asked]


def test_slow_reader_blocks_no_other_connection(tmp_path: Path, folder: Path) -> None:
    with (
        unix_endpoint(tmp_path / "endpoint", flood) as endpoint,
        carried(folder, endpoint.socket) as way,
        connect(way.socket) as lazy,
    ):
        for _ in range(5):
            with connect(way.socket) as other, other.makefile("rb") as reading:
                assert len(reading.read(8 * WINDOW)) == 8 * WINDOW
        assert lazy.recv(1000)


def test_connection_closed_by_endpoint_is_closed(tmp_path: Path, folder: Path) -> None:
    with (
        unix_endpoint(tmp_path / "endpoint", reset) as endpoint,
        carried(folder, endpoint.socket) as way,
        connect(way.socket) as client,
    ):
        client.sendall(b"x")
        assert rest_of(client) == b""


def test_disconnect_of_client_reaches_endpoint(tmp_path: Path, folder: Path) -> None:
    left = threading.Event()

    def speak(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"x" * 65536)
        finally:
            left.set()

    with (
        unix_endpoint(tmp_path / "endpoint", speak) as endpoint,
        carried(folder, endpoint.socket) as way,
    ):
        with connect(way.socket) as client:
            assert client.recv(1)
        assert left.wait(HANG_SECONDS)


def test_connection_without_endpoint_is_closed(folder: Path) -> None:
    with carried(folder, folder / "nowhere.sock") as way:
        for _ in range(3):
            with connect(way.socket) as client:
                assert rest_of(client) == b""


def test_surplus_connections_are_closed(way: Carried) -> None:
    held = [connect(way.socket) for _ in range(MAX_CONNECTIONS)]
    try:
        for one in held:
            one.sendall(b"x")
        for one in held:
            assert one.recv(1) == b"x"
        with connect(way.socket) as one_more:
            assert rest_of(one_more) == b""
    finally:
        for one in held:
            one.close()
    wait_until(lambda: _answers(way.socket))


def _answers(path: Path) -> bool:
    with suppress(ConnectionError):
        return said_back(path, b"") == b"end"
    return False


def test_killed_multiplexer_ends_only_its_connections(way: Carried, endpoint: UnixEndpoint) -> None:
    with connect(way.socket) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        way.process.kill()
        assert rest_of(client) == b""
    with connect(endpoint.socket) as direct:
        _send(direct, b"x")
        assert rest_of(direct) == b"xend"


@pytest.fixture
def hostile(endpoint: UnixEndpoint) -> Iterator[socket.socket]:
    """The other end of the harness's, in an agent's hands."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(HANG_SECONDS)
    theirs.sendall(_frame(0, READY))
    with theirs, open_tunnel(ours, endpoint.socket):
        assert theirs.recv(len(START_MARK)) == START_MARK
        yield theirs


def _frame(number: int, kind: int, payload: bytes = b"") -> bytes:
    return struct.pack(">IBI", number, kind, len(payload)) + payload


RUBBISH = {
    "a frame that is too long": struct.pack(">IBI", 1, DATA, 1 << 31),
    "no frame at all": b"\xff" * 4096,
    "a connection twice": _frame(1, OPEN) * 2,
    "more than the window": _frame(1, OPEN)
    + _frame(1, DATA, b"x" * 16384) * (WINDOW // 16384 + 65),
    "data after the end": _frame(1, OPEN) + _frame(1, END) + _frame(1, DATA, b"x"),
    "a kind that is none": _frame(1, OPEN) + _frame(1, 99),
}


@pytest.mark.parametrize("result", RUBBISH.values(), ids=RUBBISH.keys())
def test_malformed_frames_end_the_stream(
    hostile: socket.socket, result: bytes, endpoint: UnixEndpoint
) -> None:
    with suppress(ConnectionError):
        hostile.sendall(result)
        rest_of(hostile)  # comes to its end
    with connect(endpoint.socket) as direct:
        _send(direct, b"x")
        assert rest_of(direct) == b"xend"


def test_data_for_unknown_connection_is_ignored(hostile: socket.socket) -> None:
    hostile.sendall(
        _frame(7, DATA, b"x") + _frame(1, OPEN) + _frame(1, DATA, b"y") + _frame(1, END)
    )
    heard = b""
    while b"end" not in heard:
        heard += hostile.recv(4096)
    assert _frame(1, DATA, b"y")[-1:] in heard


def test_flood_of_connections_is_limited(hostile: socket.socket) -> None:
    opened = 5 * MAX_CONNECTIONS
    threading.Thread(
        target=lambda: hostile.sendall(b"".join(_frame(1 + n, OPEN) for n in range(opened)))
    ).start()
    refused = b""
    while len(refused) < 9 * (opened - MAX_CONNECTIONS):
        refused += hostile.recv(4096)
    assert len(refused) == 9 * (opened - MAX_CONNECTIONS)


def test_silent_peer_does_not_block_the_command(
    endpoint: UnixEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentbench.sandbox.relay._READY_SECONDS", 0.2)
    ours, theirs = socket.socketpair()
    with theirs, open_tunnel(ours, endpoint.socket):  # begins although nothing was said
        assert theirs.recv(len(START_MARK)) == START_MARK
