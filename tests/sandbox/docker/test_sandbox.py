"""How a command's streams are read up to the mark of its shell."""

import socket
import struct
from collections.abc import Iterator
from datetime import timedelta
from threading import Event

import pytest

from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.sandbox import ContainerExec, ExecEnd
from agentbench.sandbox.interface import Command, Stream
from tests.patience import HANG_SECONDS


@pytest.fixture
def ends() -> Iterator[tuple[AttachedStream, socket.socket]]:
    ours, engines = socket.socketpair()
    with AttachedStream(ours) as wire, engines:
        yield wire, engines


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


def a_command(**changes: object) -> Command:
    limit = timedelta(seconds=HANG_SECONDS)
    return Command(argv=("x",), timeout=limit, **changes)


def mark_of(execution: ContainerExec, code: int) -> bytes:
    return f"\0{execution.argv[4]}:{code:03}\n".encode()


def test_the_marks_end_it_and_bear_the_exit_code(
    ends: tuple[AttachedStream, socket.socket],
) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    mark = mark_of(execution, 3)
    engine.sendall(frame(1, b"out\n" + mark) + frame(2, mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.exit_code == 3
    assert execution.output[Stream.STDOUT].text() == "out\n"
    assert execution.output[Stream.STDERR].text() == ""


@pytest.mark.parametrize("cut", range(1, 22))
def test_a_mark_is_found_wherever_it_is_cut(
    ends: tuple[AttachedStream, socket.socket], cut: int
) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    mark = mark_of(execution, 0)
    engine.sendall(frame(2, mark) + frame(1, b"a\0b" + mark[:cut]))
    read_once = iter(("", "1 MiB"))
    assert execution.listen(wire, HANG_SECONDS, exceeded=lambda: next(read_once)) is ExecEnd.FULL
    engine.sendall(frame(1, mark[cut:]))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.output[Stream.STDOUT].text() == "a\0b"


def test_one_mark_is_not_enough(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    engine.sendall(frame(1, mark_of(execution, 0)))
    engine.close()
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.CUT_OFF


def test_zero_bytes_of_the_command_get_through(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    seen = bytearray()
    execution = ContainerExec(a_command(sink=lambda _stream, data: seen.extend(data)), "/")
    text = b"\0" * 100 + b"\0abc"
    mark = mark_of(execution, 0)
    for byte in text + mark:
        engine.sendall(frame(1, bytes([byte])))
    engine.sendall(frame(2, mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert seen == text


def test_what_looked_like_a_mark_is_told_when_the_stream_ends(
    ends: tuple[AttachedStream, socket.socket],
) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    engine.sendall(frame(1, b"text\0"))
    engine.close()
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.CUT_OFF
    assert execution.output[Stream.STDOUT].text() == "text\0"


def test_a_set_event_ends_the_listening(ends: tuple[AttachedStream, socket.socket]) -> None:
    cancel = Event()
    cancel.set()
    assert (
        ContainerExec(a_command(), "/").listen(ends[0], HANG_SECONDS, cancel) is ExecEnd.CANCELLED
    )


def test_each_stream_has_a_cap_of_its_own(ends: tuple[AttachedStream, socket.socket]) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(output_cap=4), "/")
    mark = mark_of(execution, 0)
    engine.sendall(frame(1, b"0123456789" + mark) + frame(2, b"abcd" + mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.output[Stream.STDOUT].truncated
    assert execution.output[Stream.STDERR].text() == "abcd"


def test_input_follows_the_line_that_lets_the_command_run(
    ends: tuple[AttachedStream, socket.socket],
) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(stdin=b"input"), "/")
    execution.begin(wire)
    assert engine.recv(100) == b"go\ninput"
    assert execution.argv[5] == "5"


def test_every_execution_has_a_mark_of_its_own() -> None:
    assert len({ContainerExec(a_command(), "/").argv[4] for _ in range(100)}) == 100


def test_the_commands_path_does_not_become_its_shells() -> None:
    execution = ContainerExec(a_command(env={"PATH": "/x", "A": "b"}), "/")
    assert execution.env == {"A": "b"}
    assert execution.argv[7] == "/x"


def test_both_streams_have_a_channel() -> None:
    output = ContainerExec(a_command(), "/").output
    assert [output[stream].total for stream in Stream] == [0] * len(Stream)
