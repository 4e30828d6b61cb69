"""Tunnels the connections of a unix socket through one stream to the program at its other end.

    python3 -I -S tunnel.py SOCKET

It leads to a model where the engine shares no files with the harness. This end runs in the sandbox,
listens on SOCKET, and talks by its stdin and stdout. The other end (`sandbox/relay.py`, which
imports this file) runs with the harness and connects each connection to the model endpoint. The
program ends with its stdin.

A frame is a connection's number, a kind, a length, and as many bytes. Each direction of each
connection has a window for bytes that its reader has not passed on yet. So a slow reader delays no
other connection, and memory is bounded, whatever the other end sends. Standard library only;
Python 3.7 to 3.14.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # later than Python 3.7
    from collections.abc import Awaitable, Callable

    Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]
    Connect = Callable[[], Awaitable[Pair]]

OPEN, DATA, END, RESET, CREDIT, READY = range(6)
WINDOW = 128 * 1024  # bytes of one direction of one connection
MAX_CONNECTIONS = 512
START_MARK = b"go\n"
"""Precedes all frames, since an engine may lose bytes that are sent before its answer is read."""

_HEADER = struct.Struct(">IBI")
_CREDIT = struct.Struct(">I")
_MAX_FRAME_BYTES = 16 * 1024  # bytes in a frame at most


class ProtocolError(Exception):
    """The other end violates the protocol; nothing else that it sends is read."""


class Multiplexer:
    """One end of the stream, with all connections that pass through it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connect: Connect | None = None,  # None: the other end may not open connections
    ) -> None:
        self._read_exactly = reader.readexactly
        self._writer = writer
        self._connect = connect
        self._sending = asyncio.Lock()
        self._connections: dict[int, _TunnelledConnection] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last_number = 0
        self.ready = asyncio.Event()  # the other end listens

    async def send(self, number: int, kind: int, payload: bytes = b"") -> None:
        async with self._sending:
            self._writer.write(_HEADER.pack(number, kind, len(payload)) + payload)
            await self._writer.drain()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection that a program made at this end, until it ends."""
        if len(self._connections) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._last_number = number = self._last_number + 1
        connection = self._connections[number] = _TunnelledConnection(self, number)
        try:
            with suppress(OSError):  # the stream is gone, and `listen` ends, too
                await self.send(number, OPEN)
                await connection.forward(reader, writer)
        finally:
            del self._connections[number]
            _cut(writer)

    async def listen(self) -> None:
        """Receive frames until the stream ends; then every connection is cut.

        Raises:
            ProtocolError: the other end violates the protocol.
        """
        try:
            while True:
                number, kind, length = _HEADER.unpack(await self._read_exactly(_HEADER.size))
                if length > _MAX_FRAME_BYTES:
                    raise ProtocolError("a frame is too long")
                payload = await self._read_exactly(length)
                if kind == READY:
                    self.ready.set()
                elif kind == OPEN:
                    if self._connect is None or number in self._connections:
                        raise ProtocolError("a connection is opened that may not be")
                    if len(self._connections) >= MAX_CONNECTIONS:
                        await self.send(number, RESET)
                        continue
                    connection = self._connections[number] = _TunnelledConnection(self, number)
                    work = self._answer(connection, self._connect)
                    self._tasks[number] = asyncio.ensure_future(work)
                # A frame for another number is late: its connection has ended at this end.
                elif number in self._connections:
                    self._connections[number].receive(kind, payload)
        except (asyncio.IncompleteReadError, OSError):
            return
        finally:
            for connection in list(self._connections.values()):
                connection.reset()
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, connection: _TunnelledConnection, connect: Connect) -> None:
        try:
            reader, writer = await connect()
            try:
                await connection.forward(reader, writer)
            finally:
                _cut(writer)
        except OSError:
            with suppress(OSError):  # the stream is gone, too
                await self.send(connection.number, RESET)
        finally:
            del self._connections[connection.number], self._tasks[connection.number]


class _TunnelledConnection:
    """One connection: the bytes that are not passed on yet, and the credit for sending."""

    def __init__(self, multiplexer: Multiplexer, number: int) -> None:
        self.number = number
        self._multiplexer = multiplexer
        self._received = bytearray()  # not passed on yet
        self._uncredited = 0  # bytes received since the last credit that was given for them
        self._ended = False  # nothing follows
        self._news = asyncio.Event()
        self._credit = WINDOW
        self._more_credit = asyncio.Event()
        self._both: asyncio.Future[list[None]] | None = None  # the copies of both directions
        self._was_reset = False

    def receive(self, kind: int, payload: bytes) -> None:
        if kind == DATA:
            self._uncredited += len(payload)
            if self._uncredited > WINDOW or self._ended:
                raise ProtocolError("a connection sends more than it may")
            self._received += payload
        elif kind == END:
            self._ended = True
        elif kind == CREDIT and len(payload) == _CREDIT.size:
            self._credit = min(WINDOW, self._credit + _CREDIT.unpack(payload)[0])
            self._more_credit.set()
        elif kind == RESET:
            self.reset()
        else:
            raise ProtocolError("a frame is of no known kind")
        self._news.set()

    def reset(self) -> None:
        self._was_reset = True
        if self._both is not None:
            self._both.cancel()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy bytes in both directions until both have ended, or one has failed."""
        tasks = [asyncio.ensure_future(copy) for copy in (self._out(reader), self._in(writer))]
        self._both = asyncio.gather(*tasks)
        try:
            if not self._was_reset:
                await self._both
                writer.close()
                await writer.wait_closed()  # until all bytes have arrived
        except asyncio.CancelledError:
            if not self._was_reset:
                raise
        except OSError:
            with suppress(OSError):  # the stream is gone, too
                await self._multiplexer.send(self.number, RESET)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _out(self, reader: asyncio.StreamReader) -> None:
        while True:
            while not self._credit:
                self._more_credit.clear()
                await self._more_credit.wait()
            data = await reader.read(min(_MAX_FRAME_BYTES, self._credit))
            if not data:
                await self._multiplexer.send(self.number, END)
                return
            self._credit -= len(data)
            await self._multiplexer.send(self.number, DATA, data)

    async def _in(self, writer: asyncio.StreamWriter) -> None:
        passed_on = 0
        while self._received or not self._ended:
            self._news.clear()
            data, self._received = self._received, bytearray()
            if not data:
                await self._news.wait()
                continue
            writer.write(data)
            await writer.drain()
            passed_on += len(data)
            if passed_on >= WINDOW // 2:
                self._uncredited -= passed_on
                await self._multiplexer.send(self.number, CREDIT, _CREDIT.pack(passed_on))
                passed_on = 0
        writer.write_eof()


def _cut(writer: asyncio.StreamWriter) -> None:
    """Close a connection without sending what it still holds; it may be closed already."""
    # A transport of Python 3.11 that closed with bytes to send has no event loop afterwards.
    with suppress(AttributeError):
        writer.transport.abort()


async def _serve(path: str) -> None:
    loop, reader = asyncio.get_event_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    make = asyncio.streams.FlowControlMixin
    transport, protocol = await loop.connect_write_pipe(lambda: make(), sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    if await reader.readexactly(len(START_MARK)) != START_MARK:
        raise ProtocolError("the other end is not agentbench")
    multiplexer = Multiplexer(reader, writer)
    with suppress(FileNotFoundError):
        Path(path).unlink()
    await asyncio.start_unix_server(multiplexer.accept, path, backlog=MAX_CONNECTIONS)
    await multiplexer.send(0, READY)
    await multiplexer.listen()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
