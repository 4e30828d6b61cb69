"""A hijacked connection to the engine (attach, exec): framed output, input, and time limits.

The SDK's own readers wait without a limit, even if the engine is frozen or dead.
"""

import os
import socket
import ssl
import struct
from collections.abc import Callable
from io import RawIOBase
from typing import NamedTuple, cast

from agentbench.sandbox.interface import Stream

_HEADER = struct.Struct(">BxxxL")
_STREAMS = {1: Stream.STDOUT, 2: Stream.STDERR}
_CHUNK = 1 << 18
_LATER = (TimeoutError, BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class OutputFrame(NamedTuple):
    """A chunk of output and its stream."""

    stream: Stream
    data: bytes


class AttachedStream:
    """A connection from `attach` or `exec`: it receives frames and sends bytes."""

    def __init__(
        self, hijacked: object, *, is_orphaned: Callable[[], bool] = lambda: False
    ) -> None:
        """Take over the SDK's result of `attach` or `exec`."""
        # Some engines leave the connection open when its container has ended.
        self._is_orphaned = is_orphaned
        if isinstance(hijacked, RawIOBase):
            # A raw file has no time limits, so its connection is duplicated. The SDK's response and
            # its connection pool are given up then: a hundred objects as long as a sandbox exists.
            self._socket = socket.socket(fileno=os.dup(hijacked.fileno()))
            _close_response(hijacked)
            hijacked.close()
        else:
            self._socket = cast("socket.socket", hijacked)
        self._pending = bytearray()
        self._stream = Stream.STDOUT
        self._missing = 0  # bytes of the present frame
        self.ended = False

    def __enter__(self) -> "AttachedStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes, patience: float) -> None:
        """Send bytes; a connection that does not accept them has ended."""
        try:
            self._socket.settimeout(patience)
            self._socket.sendall(data)
        except OSError:
            self.ended = True

    def receive(self, patience: float) -> list[OutputFrame]:
        """The frames that arrive within some seconds; none once the connection has ended."""
        frames = self._receive(max(patience, 0.001))  # 0 would not wait at all
        self.ended = self.ended or (not frames and self._is_orphaned())
        return frames

    def receive_now(self) -> list[OutputFrame]:
        return self._receive(0)

    def send_some(self, data: bytes | bytearray) -> int:
        """Send as many bytes as possible without waiting; returns their number."""
        try:
            self._socket.settimeout(0)
            return self._socket.send(data)
        except _LATER:
            return 0
        except OSError:
            self.ended = True
            return 0

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def holds_more(self) -> bool:
        """Whether TLS has buffered bytes, which a selector cannot see."""
        pending = getattr(self._socket, "pending", None)
        return bool(pending is not None and pending())

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self.ended = True
        self._socket.close()
        _close_response(self._socket)

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
        frames: list[OutputFrame] = []
        while self._pending:
            if not self._missing:
                if len(self._pending) < _HEADER.size:
                    break
                kind, self._missing = _HEADER.unpack_from(self._pending)
                self._stream = _STREAMS.get(kind, Stream.STDOUT)
                del self._pending[: _HEADER.size]
                continue
            data = bytes(self._pending[: self._missing])
            del self._pending[: len(data)]
            self._missing -= len(data)
            frames.append(OutputFrame(self._stream, data))
        return frames


def _close_response(hijacked: object) -> None:
    """Close the response that the SDK attaches to its result.

    Unless it is closed, the connection's first descriptor stays open until garbage collection.
    """
    close = getattr(getattr(hijacked, "_response", None), "close", None)
    if close is not None:
        close()
