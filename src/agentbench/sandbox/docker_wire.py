"""A hijacked connection to the engine: framed output, input, and waits that always end.

The SDK's own readers wait without end, also when the engine is frozen or gone.
"""

import os
import socket
import struct
from io import RawIOBase
from types import TracebackType
from typing import NamedTuple, Protocol, cast

from agentbench.sandbox.interface import Stream

_HEADER = struct.Struct(">BxxxL")
_STREAMS = {1: Stream.STDOUT, 2: Stream.STDERR}
_CHUNK = 1 << 18


class Frame(NamedTuple):
    """A piece of output and where it came from."""

    stream: Stream
    data: bytes


class _Socket(Protocol):
    """What sockets, TLS sockets and the channels of SSH have in common."""

    def settimeout(self, seconds: float) -> None: ...
    def recv(self, size: int) -> bytes: ...
    def sendall(self, data: bytes) -> object: ...
    def close(self) -> None: ...


class Wire:
    """What `attach` and `exec` give: frames come out of it, bytes go in."""

    def __init__(self, hijacked: object) -> None:
        self._hijacked = hijacked
        self._socket = _plain(hijacked)
        self._pending = bytearray()
        self._stream = Stream.STDOUT
        self._left = 0  # of the frame whose header was read last
        self.ended = False

    def __enter__(self) -> "Wire":
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

    def receive(self, patience: float) -> list[Frame]:
        """What has come, or comes within some seconds; nothing once the connection has ended."""
        try:
            self._socket.settimeout(max(patience, 0.001))  # 0 would mean: do not wait at all
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            return []
        except OSError:
            data = b""
        if not data:
            self.ended = True
        self._pending += data
        return self._frames()

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

    def _frames(self) -> list[Frame]:
        frames: list[Frame] = []
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
            frames.append(Frame(self._stream, data))
        return frames


def _plain(hijacked: object) -> _Socket:
    """Something with time-outs: TLS and SSH connections have them, raw files do not."""
    if isinstance(hijacked, RawIOBase):
        return socket.socket(fileno=os.dup(hijacked.fileno()))
    return cast("_Socket", hijacked)
