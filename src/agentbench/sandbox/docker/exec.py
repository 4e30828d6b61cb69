"""Runs one command in a container, and a sidecar program whose streams become a socket.

The shell script `WRAPPER` runs the command as its child. It ends both streams with a mark and the
exit code, then stops and waits to be killed. This has three purposes. All output has arrived once
both marks have, even if an engine ends a stream early. The end of the command is visible although
a daemon of it holds the streams open. And the command's output starts only after our first line is
read: the SDK discards bytes that arrive together with the engine's answer.
"""

import re
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null # so the main process dies last
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
_POLL = 0.1  # seconds between two checks of the clock and the cancel event


class ExecEnd(Enum):
    """The reason why `listen` returned."""

    MARKED = auto()  # the command ended, with a mark on both streams
    CUT_OFF = auto()  # the connection ended before that
    DEADLINE = auto()
    CANCELLED = auto()
    FULL = auto()  # the sandbox exceeds its disk limit


class ContainerExec:
    """A command in a container, before its start and while it runs."""

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
        """The time since its start."""
        return timedelta(seconds=time.monotonic() - self._started)

    @property
    def exit_code(self) -> int | None:
        """Its exit code, once it is known."""
        return self._channels[Stream.STDOUT].exit_code

    @property
    def output(self) -> Mapping[Stream, OutputCapture]:
        """Its output so far."""
        return {stream: channel.capture for stream, channel in self._channels.items()}

    def begin(self, connection: AttachedStream) -> None:
        """Start it, and send its input."""
        self._started = time.monotonic()
        connection.send(b"go\n" + self._command.stdin, self._command.timeout.total_seconds())

    def listen(
        self,
        connection: AttachedStream,
        seconds: float,
        cancel: Event | None = None,
        is_full: Callable[[], bool] = lambda: False,
    ) -> ExecEnd:
        """Receive its output until it ends, or for some seconds."""
        deadline = time.monotonic() + seconds
        while not connection.ended:
            remaining = deadline - time.monotonic()
            if self._command.cancelled or (cancel is not None and cancel.is_set()):
                return ExecEnd.CANCELLED
            if remaining <= 0:
                return ExecEnd.DEADLINE
            if is_full():
                return ExecEnd.FULL
            for stream, data in connection.receive(min(remaining, _POLL)):
                self._take(stream, self._channels[stream].feed(data))
            if all(channel.exit_code is not None for channel in self._channels.values()):
                return ExecEnd.MARKED
        for stream, channel in self._channels.items():
            self._take(stream, channel.rest())
        return ExecEnd.CUT_OFF

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
        """The part that belongs to the command; a possible begin of the mark is held back."""
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
        """The part that was held back, once the stream has ended."""
        rest, self._held = self._held, b""
        return rest


_BUFFER_BYTES = 256 * 1024  # bytes each way
_SIDECAR_POLL = 0.2  # seconds between two checks whether the peer has closed


@contextmanager
def running_sidecar(container: DockerContainer, sidecar: Sidecar | None) -> Iterator[None]:
    """Run a program during the block; it ends with all processes of the command."""
    if sidecar is None:
        yield
        return
    ours, theirs = socket.socketpair()
    with ours, theirs, container.begin(list(sidecar.argv), {}).stream as stream:
        pump = Thread(target=_Pump(stream, theirs).work, name="agentbench-sidecar", daemon=True)
        pump.start()
        try:
            with sidecar.attend(ours):
                yield
        finally:
            with suppress(OSError):  # this ends the pump
                theirs.shutdown(socket.SHUT_RDWR)
            pump.join()


class _Pump:
    """Copies bytes between an engine's connection and a socket.

    One thread serves both directions, since threads cannot share a TLS connection.
    """

    def __init__(self, connection: AttachedStream, peer: socket.socket) -> None:
        self._connection = connection
        self._peer = peer
        self._in = bytearray()  # for the sandbox
        self._out = bytearray()
        self._peer_ended = False
        peer.settimeout(0)

    def work(self) -> None:
        """Copy until one side ends; then close both."""
        with selectors.DefaultSelector() as selector, self._peer, self._connection:
            while not self._peer_ended and not (self._connection.ended and not self._out):
                listens = not self._connection.ended
                interests = (
                    (
                        self._connection.fileno(),
                        listens and self._has_space,
                        listens and bool(self._in),
                    ),
                    (self._peer.fileno(), len(self._in) < _BUFFER_BYTES, bool(self._out)),
                )
                for descriptor, reads, writes in interests:
                    events = reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE
                    if events:
                        selector.register(descriptor, events)
                selector.select(
                    0 if self._connection.holds_more and self._has_space else _SIDECAR_POLL
                )
                for key in list(selector.get_map().values()):
                    selector.unregister(key.fileobj)
                self._step()

    @property
    def _has_space(self) -> bool:
        return len(self._out) < _BUFFER_BYTES

    def _step(self) -> None:
        if self._has_space and not self._connection.ended:
            for frame in self._connection.receive_now():
                if frame.stream is Stream.STDOUT:
                    self._out += frame.data
        if self._in and not self._connection.ended:
            del self._in[: self._connection.send_some(self._in)]
        with suppress(BlockingIOError):
            try:
                if self._out:
                    del self._out[: self._peer.send(self._out)]
            except ConnectionError:
                self._peer_ended = True
        if len(self._in) < _BUFFER_BYTES:
            with suppress(BlockingIOError):
                try:
                    data = self._peer.recv(_BUFFER_BYTES)
                except ConnectionError:
                    data = b""
                self._peer_ended = self._peer_ended or not data
                self._in += data
