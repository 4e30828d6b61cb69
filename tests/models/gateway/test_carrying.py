"""Connections through a carrier: all of them, whole, and none holding up another."""

import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

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
from tests.models.gateway.carried_door import Carried, carried
from tests.models.gateway.unix_door import UnixDoor, echo, flood, reset, unix_door
from tests.patience import HANG_SECONDS, wait_until

BIG = bytes(range(256)) * 20_000  # 5 MB, forty windows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "carried"
    folder.mkdir()
    return folder


@pytest.fixture
def door(tmp_path: Path) -> Iterator[UnixDoor]:
    with unix_door(tmp_path / "door", echo) as opened:
        yield opened


@pytest.fixture
def way(folder: Path, door: UnixDoor) -> Iterator[Carried]:
    with carried(folder, door.socket) as opened:
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


def test_what_is_said_comes_back_whole_and_each_way_ends_by_itself(way: Carried) -> None:
    assert said_back(way.socket, b"hello") == b"helloend"
    assert said_back(way.socket, b"") == b"end"
    assert said_back(way.socket, BIG) == BIG + b"end"


def test_hundreds_of_connections_at_a_time_do_not_mix(way: Carried) -> None:
    with ThreadPoolExecutor(200) as pool:
        asked = [f"{number:05d}".encode() * 2000 for number in range(400)]
        heard = list(pool.map(lambda data: said_back(way.socket, data), asked))
    assert heard == [data + b"end" for data in asked]


def test_one_that_does_not_read_holds_up_no_other(tmp_path: Path, folder: Path) -> None:
    with (
        unix_door(tmp_path / "door", flood) as door,
        carried(folder, door.socket) as way,
        connect(way.socket) as lazy,
    ):
        for _ in range(5):
            with connect(way.socket) as other, other.makefile("rb") as reading:
                assert len(reading.read(8 * WINDOW)) == 8 * WINDOW
        assert lazy.recv(1000)


def test_a_connection_that_the_door_breaks_is_broken_here(tmp_path: Path, folder: Path) -> None:
    with (
        unix_door(tmp_path / "door", reset) as door,
        carried(folder, door.socket) as way,
        connect(way.socket) as client,
    ):
        client.sendall(b"x")
        assert rest_of(client) == b""


def test_a_client_that_leaves_is_noticed_at_the_door(tmp_path: Path, folder: Path) -> None:
    left = threading.Event()

    def speak(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"x" * 65536)
        finally:
            left.set()

    with unix_door(tmp_path / "door", speak) as door, carried(folder, door.socket) as way:
        with connect(way.socket) as client:
            assert client.recv(1)
        assert left.wait(HANG_SECONDS)


def test_without_a_door_a_connection_is_broken_and_the_next_one_too(folder: Path) -> None:
    with carried(folder, folder / "nowhere.sock") as way:
        for _ in range(3):
            with connect(way.socket) as client:
                assert rest_of(client) == b""


def test_more_connections_than_may_be_are_broken_and_the_others_go_on(way: Carried) -> None:
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


def test_a_carrier_that_is_killed_ends_what_passed_through_it_and_no_more(
    way: Carried, door: UnixDoor
) -> None:
    with connect(way.socket) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        way.process.kill()
        assert rest_of(client) == b""
    with connect(door.socket) as direct:
        _send(direct, b"x")
        assert rest_of(direct) == b"xend"


@pytest.fixture
def hostile(door: UnixDoor) -> Iterator[socket.socket]:
    """The other end of the harness's, in an agent's hands."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(HANG_SECONDS)
    theirs.sendall(_frame(0, READY))
    with theirs, open_tunnel(ours, door.socket):
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


@pytest.mark.parametrize("said", RUBBISH.values(), ids=RUBBISH.keys())
def test_rubbish_ends_the_stream_and_nothing_else(
    hostile: socket.socket, said: bytes, door: UnixDoor
) -> None:
    with suppress(ConnectionError):
        hostile.sendall(said)
        rest_of(hostile)  # comes to its end
    with connect(door.socket) as direct:
        _send(direct, b"x")
        assert rest_of(direct) == b"xend"


def test_what_is_said_to_a_connection_that_is_none_is_passed_over(hostile: socket.socket) -> None:
    hostile.sendall(
        _frame(7, DATA, b"x") + _frame(1, OPEN) + _frame(1, DATA, b"y") + _frame(1, END)
    )
    heard = b""
    while b"end" not in heard:
        heard += hostile.recv(4096)
    assert _frame(1, DATA, b"y")[-1:] in heard


def test_a_flood_of_connections_is_refused_and_bounded(hostile: socket.socket) -> None:
    opened = 5 * MAX_CONNECTIONS
    threading.Thread(
        target=lambda: hostile.sendall(b"".join(_frame(1 + n, OPEN) for n in range(opened)))
    ).start()
    refused = b""
    while len(refused) < 9 * (opened - MAX_CONNECTIONS):
        refused += hostile.recv(4096)
    assert len(refused) == 9 * (opened - MAX_CONNECTIONS)


def test_one_that_says_nothing_does_not_hold_up_the_command_for_ever(
    door: UnixDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentbench.sandbox.relay._READY_SECONDS", 0.2)
    ours, theirs = socket.socketpair()
    with theirs, open_tunnel(ours, door.socket):  # begins although nothing was said
        assert theirs.recv(len(START_MARK)) == START_MARK
