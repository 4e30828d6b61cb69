"""Carries the connections of a unix socket over one stream to the program at its other end.

    python3 -I -S tunnel.py SOCKET

It leads to a model where the engine shares no files with the harness: this end runs in the sandbox,
listens on SOCKET and speaks by its stdin and stdout; the other end (the gateway's `relay.py`, which
imports this file) runs with the harness and connects each to the endpoint. It ends with its stdin.

A frame is a connection's number, a kind, a length, and as many bytes. Each direction of each
connection has a window of what its reader has not passed on yet: so one that does not read holds up
no other, and memory is bounded, whatever the other end sends. Standard library only; Python 3.7 to
3.14.
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
WINDOW = 128 * 1024  # bytes of one way of one connection
MAX_CONNECTIONS = 512
START_MARK = b"go\n"
"""Comes before all frames, since an engine may lose what is said before it."""

_HEADER = struct.Struct(">IBI")
_CREDIT = struct.Struct(">I")
_MAX_FRAME_BYTES = 16 * 1024  # bytes in a frame at most


class ProtocolError(Exception):
    """The other end does not speak as agreed; nothing it says is worth listening to."""


class Multiplexer:
    """One end of the stream, with all connections that pass through it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connect: Connect | None = None,  # how to answer what the other end opens, if it may
    ) -> None:
        self._exactly = reader.readexactly
        self._writer = writer
        self._connect = connect
        self._turn = asyncio.Lock()
        self._ways: dict[int, _TunnelledConnection] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        self.ready = asyncio.Event()  # the other end has said that it listens

    async def say(self, number: int, kind: int, payload: bytes = b"") -> None:
        """Send one frame, once the stream takes it."""
        async with self._turn:
            self._writer.write(_HEADER.pack(number, kind, len(payload)) + payload)
            await self._writer.drain()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection that was made here, until it ends."""
        if len(self._ways) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._last = number = self._last + 1
        connection = self._ways[number] = _TunnelledConnection(self, number)
        try:
            with suppress(OSError):  # the stream is gone, and `listen` ends too
                await self.say(number, OPEN)
                await connection.carry(reader, writer)
        finally:
            del self._ways[number]
            writer.transport.abort()

    async def listen(self) -> None:
        """Take in frames until the stream ends; then every connection is cut.

        Raises:
            ProtocolError: what came is not as agreed.
        """
        try:
            while True:
                number, kind, length = _HEADER.unpack(await self._exactly(_HEADER.size))
                if length > _MAX_FRAME_BYTES:
                    raise ProtocolError("a frame is too long")
                payload = await self._exactly(length)
                if kind == READY:
                    self.ready.set()
                elif kind == OPEN:
                    await self._opened(number)
                elif number in self._ways:  # else it ended here, and the other end will soon know
                    self._ways[number].heard(kind, payload)
        except (asyncio.IncompleteReadError, OSError):
            return
        finally:
            await self._cut_all()

    async def _opened(self, number: int) -> None:
        if self._connect is None or number in self._ways:
            raise ProtocolError("a connection is opened that may not be")
        if len(self._ways) >= MAX_CONNECTIONS:
            await self.say(number, RESET)
            return
        connection = self._ways[number] = _TunnelledConnection(self, number)
        self._tasks[number] = asyncio.ensure_future(self._answer(connection, self._connect))

    async def _answer(self, connection: _TunnelledConnection, connect: Connect) -> None:
        try:
            reader, writer = await connect()
            try:
                await connection.carry(reader, writer)
            finally:
                writer.transport.abort()
        except OSError:
            with suppress(OSError):  # the stream is gone, too
                await self.say(connection.number, RESET)
        finally:
            del self._ways[connection.number], self._tasks[connection.number]

    async def _cut_all(self) -> None:
        for connection in list(self._ways.values()):
            connection.reset()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _TunnelledConnection:
    """One connection: what came for it and is not passed on yet, and what it may still send."""

    def __init__(self, carrier: Multiplexer, number: int) -> None:
        self.number = number
        self._carrier = carrier
        self._waiting = bytearray()
        self._unseen = 0  # bytes that came, of which the other end does not know that they left
        self._ended = False  # nothing follows
        self._news = asyncio.Event()
        self._credit = WINDOW
        self._more_credit = asyncio.Event()
        self._both: asyncio.Future[list[None]] | None = None  # what carries both ways
        self._was_reset = False

    def heard(self, kind: int, payload: bytes) -> None:
        if kind == DATA:
            self._unseen += len(payload)
            if self._unseen > WINDOW or self._ended:
                raise ProtocolError("a connection sends more than it may")
            self._waiting += payload
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

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes both ways until both ways have ended, or one has broken."""
        tasks = [asyncio.ensure_future(copy) for copy in (self._out(reader), self._in(writer))]
        self._both = asyncio.gather(*tasks)
        try:
            if not self._was_reset:
                await self._both
                writer.close()
                await writer.wait_closed()  # what is still on its way arrives
        except asyncio.CancelledError:
            if not self._was_reset:
                raise
        except OSError:
            with suppress(OSError):  # the stream is gone, too
                await self._carrier.say(self.number, RESET)
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
                await self._carrier.say(self.number, END)
                return
            self._credit -= len(data)
            await self._carrier.say(self.number, DATA, data)

    async def _in(self, writer: asyncio.StreamWriter) -> None:
        passed_on = 0
        while self._waiting or not self._ended:
            self._news.clear()
            data, self._waiting = self._waiting, bytearray()
            if not data:
                await self._news.wait()
                continue
            writer.write(data)
            await writer.drain()
            passed_on += len(data)
            if passed_on >= WINDOW // 2:
                self._unseen -= passed_on
                await self._carrier.say(self.number, CREDIT, _CREDIT.pack(passed_on))
                passed_on = 0
        writer.write_eof()


async def _serve(path: str) -> None:
    loop, reader = asyncio.get_event_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    make = asyncio.streams.FlowControlMixin
    transport, protocol = await loop.connect_write_pipe(lambda: make(), sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    if await reader.readexactly(len(START_MARK)) != START_MARK:
        raise ProtocolError("somebody else is there")
    carrier = Multiplexer(reader, writer)
    with suppress(FileNotFoundError):
        Path(path).unlink()
    await asyncio.start_unix_server(carrier.take, path, backlog=MAX_CONNECTIONS)
    await carrier.say(0, READY)
    await carrier.listen()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
