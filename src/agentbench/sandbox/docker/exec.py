"""One command in a container.

The shell around it, how it is seen to end, and a sidecar program whose streams become a socket on
this side.

A shell of ours, `WRAPPER`, runs the command as its child and closes both streams with a mark that
bears the exit code; then it stops and waits to be killed. Three things rest on this. All output has
arrived when both marks have (an engine that ends a stream early loses none unnoticed). The command
has ended although a daemon of it holds the streams open. And nothing is said before our first line
has gone in: the SDK throws away what arrives together with the engine's answer.
"""

import re
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from threading import Event, Thread

from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container import DockerContainer
from agentbench.sandbox.interface import Command, Sidecar, Stream
from agentbench.sandbox.supervise import OutputCapture

WRAPPER = r"""
ab_mark=$1 ab_size=$2 ab_folder=$3 ab_path=$4
shift 4
read -r ab_go || exit 125
trap : TERM HUP INT QUIT USR1 USR2
{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null # so the keeper is the last to go
if [ "$ab_size" -gt 0 ]; then
  head -c "$ab_size" > "/tmp/.input-$ab_mark" && exec 3< "/tmp/.input-$ab_mark" || exit 125
  rm -f "/tmp/.input-$ab_mark"
else
  exec 3< /dev/null
fi
(
  cd "$ab_folder" || exit 126
  unset OLDPWD PWD SHLVL
  PATH=${ab_path:-$PATH}
  exec "$@" <&3 3<&-
)
ab_code=$?
printf '\0%s:%03d\n' "$ab_mark" "$ab_code"
printf '\0%s:%03d\n' "$ab_mark" "$ab_code" >&2
kill -s STOP $$
"""
_POLL = 0.1  # seconds between two looks at the clock and at the cancel event


class ExecEnd(Enum):
    """Why nobody listens to a command any longer."""

    MARKED = auto()  # it ended and said so on both streams
    CUT_OFF = auto()  # the connection ended before that
    DEADLINE = auto()
    CANCELLED = auto()
    FULL = auto()  # its sandbox holds more than it may


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecOutput:
    """What a command said."""

    stdout: OutputCapture
    stderr: OutputCapture


class ContainerExec:
    """A command that is about to run in a container, or runs."""

    def __init__(self, command: Command, folder: str) -> None:
        mark = secrets.token_hex(8)
        self._command = command
        self._channels = {stream: _MarkedStream(command.output_cap, mark) for stream in Stream}
        self.argv: Sequence[str] = (
            *("/bin/sh", "-c", WRAPPER, "sh"),
            *(mark, str(len(command.stdin)), folder, command.env.get("PATH", "")),
            *command.argv,
        )
        # The shell needs a PATH of its own, so the command's is an argument of it.
        self.env = {name: value for name, value in command.env.items() if name != "PATH"}
        self._started = time.monotonic()

    @property
    def duration(self) -> timedelta:
        """Since it began."""
        return timedelta(seconds=time.monotonic() - self._started)

    @property
    def exit_code(self) -> int | None:
        """What it ended with, once it has said so."""
        return self._channels[Stream.STDOUT].exit_code

    @property
    def output(self) -> ExecOutput:
        """What it has said so far."""
        return ExecOutput(
            stdout=self._channels[Stream.STDOUT].capture,
            stderr=self._channels[Stream.STDERR].capture,
        )

    def begin(self, wire: AttachedStream) -> None:
        """Let it run, and hand it its input."""
        self._started = time.monotonic()
        wire.send(b"go\n" + self._command.stdin, self._command.timeout.total_seconds())

    def listen(
        self,
        wire: AttachedStream,
        seconds: float,
        cancel: Event | None = None,
        is_full: Callable[[], bool] = lambda: False,
    ) -> ExecEnd:
        """Take in what it says, until it has ended or for so many seconds."""
        deadline = time.monotonic() + seconds
        while not wire.ended:
            left = deadline - time.monotonic()
            if (why := self._why_to_stop(left, cancel, is_full)) is not None:
                return why
            for stream, data in wire.receive(min(left, _POLL)):
                self._take(stream, self._channels[stream].feed(data))
            if all(channel.exit_code is not None for channel in self._channels.values()):
                return ExecEnd.MARKED
        for stream, channel in self._channels.items():
            self._take(stream, channel.rest())
        return ExecEnd.CUT_OFF

    def _why_to_stop(
        self, seconds_left: float, cancel: Event | None, is_full: Callable[[], bool]
    ) -> ExecEnd | None:
        if self._command.cancelled or (cancel is not None and cancel.is_set()):
            return ExecEnd.CANCELLED
        if seconds_left <= 0:
            return ExecEnd.DEADLINE
        return ExecEnd.FULL if is_full() else None

    def _take(self, stream: Stream, data: bytes) -> None:
        if data:
            self._channels[stream].capture.feed(data)
            if self._command.sink is not None:
                self._command.sink(stream, data)


class _MarkedStream:
    """One stream, up to the mark that ends it."""

    def __init__(self, cap: int, mark: str) -> None:
        self.capture = OutputCapture(cap)
        self.exit_code: int | None = None
        self._mark = re.compile(b"\0" + mark.encode() + rb":(\d{3})\n")
        self._mark_size = len(mark) + 6
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What of it belongs to the command; what may be the mark's begin waits for the rest."""
        if self.exit_code is not None:
            return b""
        data, self._held = self._held + data, b""
        if found := self._mark.search(data):
            self.exit_code = int(found[1])
            return data[: found.start()]
        start = data.rfind(b"\0", max(0, len(data) - self._mark_size))
        if start >= 0:
            data, self._held = data[:start], data[start:]
        return data

    def rest(self) -> bytes:
        """What waited in vain."""
        rest, self._held = self._held, b""
        return rest


_BUFFER_BYTES = 256 * 1024  # bytes each way
_SIDECAR_POLL = 0.2  # seconds between two looks at whether anybody still listens


@contextmanager
def running_sidecar(container: DockerContainer, beside: Sidecar | None) -> Iterator[None]:
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

    def __init__(self, wire: AttachedStream, peer: socket.socket) -> None:
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
                listens = not self._wire.ended
                wanted = (
                    (self._wire.fileno(), listens and self._has_room, listens and bool(self._in)),
                    (self._peer.fileno(), len(self._in) < _BUFFER_BYTES, bool(self._out)),
                )
                for descriptor, reads, writes in wanted:
                    events = reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE
                    if events:
                        selector.register(descriptor, events)
                selector.select(0 if self._wire.holds_more and self._has_room else _SIDECAR_POLL)
                for key in list(selector.get_map().values()):
                    selector.unregister(key.fileobj)
                self._step()

    @property
    def _has_room(self) -> bool:
        return len(self._out) < _BUFFER_BYTES

    def _step(self) -> None:
        if self._has_room and not self._wire.ended:
            for frame in self._wire.receive_now():
                if frame.stream is Stream.STDOUT:
                    self._out += frame.data
        if self._in and not self._wire.ended:
            del self._in[: self._wire.send_some(self._in)]
        with suppress(BlockingIOError):
            try:
                if self._out:
                    del self._out[: self._peer.send(self._out)]
            except ConnectionError:
                self._peer_ended = True
        with suppress(BlockingIOError):
            self._take()

    def _take(self) -> None:
        if len(self._in) >= _BUFFER_BYTES:
            return
        try:
            data = self._peer.recv(_BUFFER_BYTES)
        except ConnectionError:
            data = b""
        self._peer_ended = self._peer_ended or not data
        self._in += data
