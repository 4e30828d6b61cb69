"""Frames out of a connection to the engine, however they are cut, and waits that end."""

import socket
import struct
from collections.abc import Iterator

import pytest

from agentbench.sandbox.docker.attached_stream import AttachedStream, OutputFrame
from agentbench.sandbox.interface import Stream
from tests.patience import HANG_SECONDS

Ends = tuple[AttachedStream, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, engines = socket.socketpair()
    with AttachedStream(ours) as wire, engines:
        yield wire, engines


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


def heard(wire: AttachedStream) -> bytes:
    return b"".join(part.data for part in wire.receive(HANG_SECONDS))


def test_frames_of_both_streams_are_separated(ends: Ends) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"out") + frame(2, b"err") + frame(1, b""))
    both = [OutputFrame(Stream.STDOUT, b"out"), OutputFrame(Stream.STDERR, b"err")]
    assert wire.receive(HANG_SECONDS) == both


def test_a_frame_may_arrive_byte_by_byte(ends: Ends) -> None:
    wire, engine = ends
    reported = b""
    for byte in frame(1, b"hello") + frame(2, b"!"):
        engine.sendall(bytes([byte]))
        reported += heard(wire)
    assert reported == b"hello!"


def test_a_part_of_a_frame_is_not_held_back(ends: Ends) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"x" * 1000)[:500])
    assert heard(wire) == b"x" * 492


def test_receive_returns_at_its_time_limit(ends: Ends) -> None:
    wire, _ = ends
    assert wire.receive(0.05) == []
    assert not wire.ended


def test_closed_connection_counts_as_ended(ends: Ends) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"last"))
    engine.close()
    assert heard(wire) == b"last"
    assert wire.receive(HANG_SECONDS) == []
    assert wire.ended


def test_send_to_a_blocked_peer_ends_the_connection(ends: Ends) -> None:
    wire, _ = ends
    wire.send(b"x" * 10_000_000, patience=0.05)
    assert wire.ended


def test_second_close_does_nothing(ends: Ends) -> None:
    wire, _ = ends
    wire.close()
    wire.close()
    assert wire.receive(HANG_SECONDS) == []


def test_receive_now_does_not_wait(ends: Ends) -> None:
    wire, engine = ends
    assert wire.receive_now() == []
    engine.sendall(frame(1, b"now"))
    assert wire.receive_now() == [OutputFrame(Stream.STDOUT, b"now")]
    assert not wire.holds_more
    assert not wire.ended
    engine.close()
    assert (wire.receive_now(), wire.ended) == ([], True)


def test_send_some_returns_the_number_of_bytes_sent(ends: Ends) -> None:
    wire, engine = ends
    while wire.send_some(b"x" * 65536):
        pass
    assert not wire.ended
    engine.recv(1 << 20)
    assert wire.send_some(b"y")
    engine.close()
    assert (wire.send_some(b"z"), wire.ended) == (0, True)
