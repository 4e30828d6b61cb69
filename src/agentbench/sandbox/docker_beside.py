"""A program beside a command: its streams become a socket on this side."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

from agentbench.sandbox.docker_container import Container
from agentbench.sandbox.docker_wire import Wire
from agentbench.sandbox.interface import Beside, Stream

_HELD_AT_MOST = 256 * 1024  # bytes each way
_LOOK_EVERY = 0.2  # seconds between two looks at whether anybody still listens


@contextmanager
def running_beside(container: Container, beside: Beside | None) -> Iterator[None]:
    """Run a program for as long as the block lasts; it ends with all processes of the command.

    Raises:
        SandboxError: the engine or the container is lost.
    """
    if beside is None:
        yield
        return
    ours, theirs = socket.socketpair()
    with ours, theirs, container.begin(list(beside.argv), {}).wire as wire:
        pump = Thread(target=_Pump(wire, theirs).work, name="agentbench-beside", daemon=True)
        pump.start()
        try:
            with beside.attend(ours):
                yield
        finally:
            with suppress(OSError):  # the pump sees it and ends
                theirs.shutdown(socket.SHUT_RDWR)
            pump.join()


class _Pump:
    """Carries bytes between an engine's connection and a socket, in one thread.

    One thread for both ways, since a connection under TLS may be used by one at a time only.
    """

    def __init__(self, wire: Wire, peer: socket.socket) -> None:
        self._wire = wire
        self._peer = peer
        self._in = bytearray()  # on its way into the sandbox
        self._out = bytearray()
        self._peer_ended = False
        peer.settimeout(0)

    def work(self) -> None:
        """Go on until either end has ended; then both have."""
        with selectors.DefaultSelector() as selector, self._peer, self._wire:
            while not self._peer_ended and not (self._wire.ended and not self._out):
                self._await_either(selector)
                self._step()

    def _await_either(self, selector: selectors.BaseSelector) -> None:
        listens = not self._wire.ended
        wanted = (
            (self._wire.fileno(), listens and self._has_room, listens and bool(self._in)),
            (self._peer.fileno(), len(self._in) < _HELD_AT_MOST, bool(self._out)),
        )
        for descriptor, reads, writes in wanted:
            events = reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE
            if events:
                selector.register(descriptor, events)
        selector.select(0 if self._wire.holds_more and self._has_room else _LOOK_EVERY)
        for key in list(selector.get_map().values()):
            selector.unregister(key.fileobj)

    @property
    def _has_room(self) -> bool:
        return len(self._out) < _HELD_AT_MOST

    def _step(self) -> None:
        if self._has_room and not self._wire.ended:
            for frame in self._wire.take():
                if frame.stream is Stream.STDOUT:
                    self._out += frame.data
        if self._in and not self._wire.ended:
            del self._in[: self._wire.offer(self._in)]
        with suppress(BlockingIOError):
            self._give()
        with suppress(BlockingIOError):
            self._take()

    def _give(self) -> None:
        try:
            if self._out:
                del self._out[: self._peer.send(self._out)]
        except ConnectionError:
            self._peer_ended = True

    def _take(self) -> None:
        if len(self._in) >= _HELD_AT_MOST:
            return
        try:
            data = self._peer.recv(_HELD_AT_MOST)
        except ConnectionError:
            data = b""
        self._peer_ended = self._peer_ended or not data
        self._in += data
