"""A hijacked connection to the engine (attach, exec).

Framed output, input, and waits that always end.

The SDK's own readers wait without end, also when the engine is frozen or gone.
"""

import os
import socket
import ssl
import struct
from io import RawIOBase
from types import TracebackType
from typing import NamedTuple, Protocol, cast

from agentbench.sandbox.interface import Stream

_HEADER = struct.Struct(">BxxxL")
_STREAMS = {1: Stream.STDOUT, 2: Stream.STDERR}
_CHUNK = 1 << 18
_LATER = (TimeoutError, BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class OutputFrame(NamedTuple):
    """A piece of output and where it came from."""

    stream: Stream
    data: bytes


class _Socket(Protocol):
    """What sockets and TLS sockets have in common."""

    def settimeout(self, seconds: float) -> None: ...
    def recv(self, size: int) -> bytes: ...
    def send(self, data: bytes | bytearray) -> int: ...
    def sendall(self, data: bytes) -> object: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


class AttachedStream:
    """What `attach` and `exec` give: frames come out of it, bytes go in."""

    def __init__(self, hijacked: object) -> None:
        self._hijacked = hijacked
        self._socket = _socket_of(hijacked)
        self._pending = bytearray()
        self._stream = Stream.STDOUT
        self._left = 0  # of the frame whose header was read last
        self.ended = False

    def __enter__(self) -> "AttachedStream":
        """Use it for a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def send(self, data: bytes, patience: float) -> None:
        """Hand bytes in; a connection that does not take them has ended."""
        try:
            self._socket.settimeout(patience)
            self._socket.sendall(data)
        except OSError:
            self.ended = True

    def receive(self, patience: float) -> list[OutputFrame]:
        """What has come, or comes within some seconds; nothing once the connection has ended."""
        return self._receive(max(patience, 0.001))  # 0 would mean: do not wait at all

    def receive_now(self) -> list[OutputFrame]:
        """What has come by now."""
        return self._receive(0)

    def send_some(self, data: bytes | bytearray) -> int:
        """Hand in as many bytes as go at once; what does not is to be offered again."""
        try:
            self._socket.settimeout(0)
            return self._socket.send(data)
        except _LATER:
            return 0
        except OSError:
            self.ended = True
            return 0

    def fileno(self) -> int:
        """What to wait for its readiness by."""
        return self._socket.fileno()

    @property
    def holds_more(self) -> bool:
        """Whether there is something to take that `fileno` does not tell of: TLS reads ahead."""
        pending = getattr(self._socket, "pending", None)
        return bool(pending is not None and pending())

    def close(self) -> None:
        """Give the connection back to the system; it may be done twice."""
        self.ended = True
        self._socket.close()
        # The SDK hangs the response on what it returns; unless that is closed too, the first
        # descriptor of the connection stays open until the garbage collector comes by.
        for holder in (getattr(self._hijacked, "_response", None), self._hijacked):
            close = getattr(holder, "close", None)
            if close is not None:
                close()

    def _receive(self, patience: float) -> list[OutputFrame]:
        try:
            self._socket.settimeout(patience)
            data = self._socket.recv(_CHUNK)
        except _LATER:
            return []
        except OSError:
            data = b""
        if not data:
            self.ended = True
        self._pending += data
        return self._frames()

    def _frames(self) -> list[OutputFrame]:
        frames: list[OutputFrame] = []
        while self._pending:
            if not self._left:
                if len(self._pending) < _HEADER.size:
                    break
                kind, self._left = _HEADER.unpack_from(self._pending)
                self._stream = _STREAMS.get(kind, Stream.STDOUT)
                del self._pending[: _HEADER.size]
                continue
            data = bytes(self._pending[: self._left])
            del self._pending[: len(data)]
            self._left -= len(data)
            frames.append(OutputFrame(self._stream, data))
        return frames


def _socket_of(hijacked: object) -> _Socket:
    """Something with time-outs: TLS connections have them, raw files do not."""
    if isinstance(hijacked, RawIOBase):
        return socket.socket(fileno=os.dup(hijacked.fileno()))
    return cast("_Socket", hijacked)
