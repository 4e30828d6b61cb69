"""The harness's end of a carrier: connects what comes out of a sandbox to a door."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentbench.agents.gateway.loop_thread import LoopThread
from agentbench.agents.gateway.mounted.agentbench_carrier import GO, Carrier, RubbishError

_READY_WITHIN_S = 20.0  # for a Python to start in a sandbox, on a loaded machine


@contextmanager
def carrying(stream: socket.socket, door: Path) -> Iterator[None]:
    """Lead all that a carrier says on a stream to a door, for as long as the block lasts.

    The stream comes from a place where the agent rules: whatever is said there, or if nothing is,
    no more comes of it than that the agent has no model.
    """
    loop = LoopThread()
    try:
        work = loop.run(_begin(stream, door))
        try:
            yield
        finally:
            loop.run(_end(work))
    finally:
        loop.stop()


async def _begin(stream: socket.socket, door: Path) -> "asyncio.Task[None]":
    reader, writer = await asyncio.open_connection(sock=stream)

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(str(door))

    writer.write(GO)
    carrier = Carrier(reader, writer, connect)
    work = asyncio.ensure_future(_listen(carrier, writer))
    ready = asyncio.ensure_future(carrier.ready.wait())
    await asyncio.wait([work, ready], timeout=_READY_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    return work


async def _listen(carrier: Carrier, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(RubbishError):
            await carrier.listen()
    finally:
        writer.transport.abort()


async def _end(work: "asyncio.Task[None]") -> None:
    work.cancel()
    await asyncio.wait([work])
