"""Connects commands in a sandbox without a network to a unix socket of this process.

A program in the sandbox, `mounted/relay.py`, forwards a port of the sandbox's 127.0.0.1 to the
socket. If the engine cannot mount our sockets, the connections use a tunnel over the streams of a
second program, `mounted/tunnel.py`.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox, Sidecar
from agentbench.sandbox.mounted.tunnel import START_MARK, Multiplexer, ProtocolError

_ResultT = TypeVar("_ResultT")
_READY_SECONDS = 20.0  # to start Python in a sandbox on a loaded machine
_MOUNTED_PROGRAMS = Path(__file__).parent / "mounted"
_RELAY_MOUNT = "agentbench-relay.py"
_TUNNEL_MOUNT = "agentbench-tunnel.py"
# A Python outside the environment that agents may write to, if there is one.
_FIND_PYTHON = """
for python in /usr/bin/python3 /usr/local/bin/python3; do
  if [ -x "$python" ]; then exec "$python" -I -S "$@"; fi
done
exec python3 -I -S "$@"
""".strip()


def relay_mounts(name: str, socket: Path) -> tuple[ReadOnlyMount, ...]:
    """The mounts that a sandbox needs for `Relay`; the socket is in a folder of its own."""
    return (
        ReadOnlyMount(name=_RELAY_MOUNT, source=_MOUNTED_PROGRAMS / "relay.py"),
        ReadOnlyMount(name=_TUNNEL_MOUNT, source=_MOUNTED_PROGRAMS / "tunnel.py"),
        ReadOnlyMount(name=name, source=socket.parent, live=True),
    )


class Relay:
    """The connection from one sandbox to one socket."""

    def __init__(self, sandbox: Sandbox, name: str, socket: Path) -> None:
        """Find the socket in a sandbox that was opened with `relay_mounts`."""
        self._program = sandbox.mounted(_RELAY_MOUNT)
        self._tunnel: Sidecar | None = None
        try:
            self._socket = sandbox.mounted(name) / socket.name
        except KeyError:  # its engine cannot mount our sockets
            self._socket = PurePosixPath(f"/tmp/{name}.sock")  # the tunnel listens there
            self._tunnel = Sidecar(
                argv=python_program(sandbox.mounted(_TUNNEL_MOUNT), str(self._socket)),
                attend=lambda stream: open_tunnel(stream, socket),
            )

    def around(self, command: Command, placeholder: str) -> Command:
        """The command as a relay's child, with the address for a placeholder in its variables."""
        argv = (*self._argv(placeholder), "--", *command.argv)
        return self.with_tunnel(replace(command, argv=argv))

    def with_tunnel(self, command: Command) -> Command:
        """The command with the tunnel as a sidecar, if the socket is reached by a tunnel."""
        tunnels = () if self._tunnel is None else (self._tunnel,)
        return replace(command, sidecars=(*command.sidecars, *tunnels))

    def probe(self, timeout: timedelta) -> Command:
        """A command that succeeds if the sandbox has the Python that the relay needs."""
        return Command(argv=("sh", "-c", _FIND_PYTHON, "python3", "-c", "pass"), timeout=timeout)

    def detached(self, timeout: timedelta) -> Command:
        """A command that prints a port, and leaves a process that forwards this port."""
        return Command(argv=self._argv("--detach"), timeout=timeout)

    def _argv(self, *words: str) -> tuple[str, ...]:
        return (*python_program(self._program, str(self._socket)), *words)


class LoopThread:
    """An event loop in a thread, until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="agentbench-gateway", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _ResultT]) -> _ResultT:
        """Run a coroutine in the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @contextmanager
    def holding(self, context: AbstractAsyncContextManager[object]) -> Iterator[None]:
        """Open an asynchronous context in the loop for the block."""
        self.run(context.__aenter__())
        try:
            yield
        finally:
            self.run(context.__aexit__(None, None, None))

    def close(self) -> None:
        """Stop the loop; running tasks are cancelled."""

        async def cancel_others() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def open_tunnel(stream: socket.socket, path: Path) -> Iterator[None]:
    """Connect the tunnel on a stream to an endpoint while the block runs."""
    # The agent controls the other end of the stream. Whatever it sends, the worst result is that
    # the agent has no model.
    with closing(LoopThread()) as loop, loop.holding(_tunnel(stream, path)):
        yield


@asynccontextmanager
async def _tunnel(stream: socket.socket, path: Path) -> AsyncIterator[None]:
    reader, writer = await asyncio.open_connection(sock=stream)
    writer.write(START_MARK)
    multiplexer = Multiplexer(reader, writer, partial(asyncio.open_unix_connection, str(path)))

    async def listen() -> None:
        try:
            with suppress(ProtocolError):
                await multiplexer.listen()
        finally:
            writer.transport.abort()

    work = asyncio.ensure_future(listen())
    ready = asyncio.ensure_future(multiplexer.ready.wait())
    await asyncio.wait([work, ready], timeout=_READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    yield
    work.cancel()
    await asyncio.wait([work])


def python_program(path: PurePosixPath, *arguments: str) -> tuple[str, ...]:
    """The command for a mounted program, with a Python that an agent cannot replace if possible."""
    return ("sh", "-c", _FIND_PYTHON, path.stem, str(path), *arguments)
