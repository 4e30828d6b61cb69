"""How the harness speaks to the keeper of a container; what it does there is tested there."""

import socket
import struct
from collections.abc import Iterator
from threading import Thread

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.attached_stream import AttachedStream, OutputFrame
from agentbench.sandbox.docker.main_process import MainProcess
from tests.patience import HANG_SECONDS


@pytest.fixture
def ends() -> Iterator[tuple[MainProcess, socket.socket]]:
    ours, containers = socket.socketpair()
    with AttachedStream(ours) as wire, containers:
        yield MainProcess(wire), containers


def say(container: socket.socket, text: str) -> None:
    container.sendall(struct.pack(">BxxxL", 1, len(text)) + text.encode())


def answering(container: socket.socket, *answers: str) -> Thread:
    """A keeper that gives these answers, one a question, each with the question's number."""

    def work() -> None:
        for answer in answers:
            question = container.recv(1000)
            if not question:
                return
            turn = question.split()[0].decode()
            say(container, f"{turn} {answer}\n")

    thread = Thread(target=work)
    thread.start()
    return thread


def test_an_answer_holds_the_counters(ends: tuple[MainProcess, socket.socket]) -> None:
    keeper, container = ends
    thread = answering(container, "yes 2 4096 1500000000")
    census = keeper.ask("KILL", patience=HANG_SECONDS)
    thread.join()
    assert census is not None
    assert (census.yes, census.oom_kills) == (True, 2)
    assert (census.peak_memory_bytes, census.cpu_nanoseconds) == (4096, 1_500_000_000)


def test_missing_counters_are_unknown(
    ends: tuple[MainProcess, socket.socket],
) -> None:
    keeper, container = ends
    thread = answering(container, "no 0 - -000")
    census = keeper.ask("0", patience=HANG_SECONDS)
    thread.join()
    assert census is not None
    assert (census.peak_memory_bytes, census.cpu_nanoseconds) == (None, None)


def test_kill_repeats_until_no_process_is_left(ends: tuple[MainProcess, socket.socket]) -> None:
    keeper, container = ends
    thread = answering(container, "yes 0 1 1", "yes 0 1 1", "no 0 1 1")
    census = keeper.end_others(patience=HANG_SECONDS)
    thread.join()
    assert census is not None
    assert not census.yes


def test_processes_that_survive_are_given_up(ends: tuple[MainProcess, socket.socket]) -> None:
    keeper, container = ends
    thread = answering(container, *["yes 0 1 1"] * 1000)
    assert keeper.end_others(patience=0.2) is None
    keeper.close()
    thread.join()


def test_a_late_answer_is_not_taken_for_the_next_one(
    ends: tuple[MainProcess, socket.socket],
) -> None:
    keeper, container = ends
    assert keeper.ask("KILL", patience=0.01) is None
    say(container, "1 yes 9 9 9\n2 no 0 1 1\n")
    census = keeper.ask("KILL", patience=HANG_SECONDS)
    assert census is not None
    assert census.oom_kills == 0


class CountingWire(AttachedStream):
    """Counts how often it is waited at."""

    waits = 0

    def receive(self, patience: float) -> list[OutputFrame]:
        self.waits += 1
        return super().receive(patience)


def test_a_keeper_that_is_gone_is_not_waited_for() -> None:
    ours, container = socket.socketpair()
    container.close()
    with CountingWire(ours) as wire:
        assert MainProcess(wire).ask("KILL", patience=HANG_SECONDS) is None
        assert wire.ended
    assert wire.waits <= 1


def test_container_that_does_not_start_is_an_error(
    ends: tuple[MainProcess, socket.socket],
) -> None:
    keeper, container = ends
    container.close()
    with pytest.raises(SandboxError, match="needs a shell"):
        keeper.await_ready()


@pytest.mark.parametrize(
    ("flags", "is_up"),
    [("0x9", True), ("0x10049", True), ("0x8", False), ("-", False), ("", False)],
)
def test_whether_the_loopback_interface_is_up_is_known_once_it_is_ready(
    ends: tuple[MainProcess, socket.socket], flags: str, *, is_up: bool
) -> None:
    main, container = ends
    say(container, f"ready {flags}\n")
    thread = answering(container, "no 0 1 1")
    main.await_ready()
    thread.join()
    assert main.has_loopback is is_up
