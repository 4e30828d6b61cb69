"""Frames out of a connection to the engine, however they are cut, and waits that end."""

import socket
import struct
from collections.abc import Iterator

import pytest

from agentbench.sandbox.docker.attached_stream import AttachedStream, OutputFrame
from agentbench.sandbox.interface import Stream
from tests.patience import HANG_SECONDS


@pytest.fixture
def ends() -> Iterator[tuple[AttachedStream, socket.socket]]:
    ours, engines = socket.socketpair()
    with AttachedStream(ours) as wire, engines:
        yield wire, engines


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


def heard(wire: AttachedStream) -> bytes:
    return b"".join(part.data for part in wire.receive(HANG_SECONDS))


def test_both_streams_come_out_as_they_went_in(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"out") + frame(2, b"err") + frame(1, b""))
    both = [OutputFrame(Stream.STDOUT, b"out"), OutputFrame(Stream.STDERR, b"err")]
    assert wire.receive(HANG_SECONDS) == both


def test_a_frame_may_arrive_byte_by_byte(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    said = b""
    for byte in frame(1, b"hello") + frame(2, b"!"):
        engine.sendall(bytes([byte]))
        said += heard(wire)
    assert said == b"hello!"


def test_a_part_of_a_frame_is_not_held_back(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"x" * 1000)[:500])
    assert heard(wire) == b"x" * 492


def test_waiting_for_nothing_ends(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, _ = ends
    assert wire.receive(0.05) == []
    assert not wire.ended


def test_a_closed_connection_is_an_end_and_not_a_fault(
    ends: tuple[AttachedStream, socket.socket],
) -> None:
    wire, engine = ends
    engine.sendall(frame(1, b"last"))
    engine.close()
    assert heard(wire) == b"last"
    assert wire.receive(HANG_SECONDS) == []
    assert wire.ended


def test_a_peer_that_takes_nothing_is_an_end(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, _ = ends
    wire.send(b"x" * 10_000_000, patience=0.05)
    assert wire.ended


def test_closing_twice_is_no_fault(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, _ = ends
    wire.close()
    wire.close()
    assert wire.receive(HANG_SECONDS) == []


def test_what_has_come_is_taken_without_a_wait(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    assert wire.receive_now() == []
    engine.sendall(frame(1, b"now"))
    assert wire.receive_now() == [OutputFrame(Stream.STDOUT, b"now")]
    assert not wire.holds_more
    assert not wire.ended
    engine.close()
    assert (wire.receive_now(), wire.ended) == ([], True)


def test_what_does_not_go_at_once_is_left_to_be_offered_again(
    ends: tuple[AttachedStream, socket.socket],
) -> None:
    wire, engine = ends
    while wire.send_some(b"x" * 65536):
        pass
    assert not wire.ended
    engine.recv(1 << 20)
    assert wire.send_some(b"y")
    engine.close()
    assert (wire.send_some(b"z"), wire.ended) == (0, True)
