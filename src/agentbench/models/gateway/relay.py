"""Runs a command in a sandbox that reaches only its model endpoint, by a socket or a tunnel."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from agentbench.models.gateway.mounted.tunnel import START_MARK, Multiplexer, ProtocolError
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox, Sidecar

_ResultT = TypeVar("_ResultT")
_READY_SECONDS = 20.0  # to start Python in a sandbox on a loaded machine
RELAY_MOUNT = "agentbench-relay.py"
TUNNEL_MOUNT = "agentbench-carrier.py"
ENDPOINT_MOUNT = "agentbench-door"
ADDRESS_PLACEHOLDER = "{agentbench-door}"
"""The text in the environment that the relay replaces by the address of the endpoint."""
_TUNNEL_SOCKET = PurePosixPath("/tmp/agentbench-door.sock")  # where the tunnel listens
# A Python outside the environment that agents may write to, if there is one.
_FIND_PYTHON = """
for python in /usr/bin/python3 /usr/local/bin/python3; do
  if [ -x "$python" ]; then exec "$python" -I -S "$@"; fi
done
exec python3 -I -S "$@"
""".strip()


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
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def open_tunnel(stream: socket.socket, path: Path) -> Iterator[None]:
    """Connect the tunnel on a stream to an endpoint while the block runs.

    The agent controls the other end of the stream. Whatever it sends, the worst result is that the
    agent has no model.
    """
    with closing(LoopThread()) as loop:
        work = loop.run(_start_tunnel(stream, path))
        try:
            yield
        finally:
            loop.run(_stop_tunnel(work))


async def _start_tunnel(stream: socket.socket, path: Path) -> "asyncio.Task[None]":
    reader, writer = await asyncio.open_connection(sock=stream)
    writer.write(START_MARK)
    carrier = Multiplexer(reader, writer, partial(asyncio.open_unix_connection, str(path)))
    work = asyncio.ensure_future(_listen(carrier, writer))
    ready = asyncio.ensure_future(carrier.ready.wait())
    await asyncio.wait([work, ready], timeout=_READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    return work


async def _listen(carrier: Multiplexer, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(ProtocolError):
            await carrier.listen()
    finally:
        writer.transport.abort()


async def _stop_tunnel(work: "asyncio.Task[None]") -> None:
    work.cancel()
    await asyncio.wait([work])


_MOUNTED_PROGRAMS = Path(__file__).parent / "mounted"


def endpoint_mounts(endpoint: ModelEndpoint) -> tuple[ReadOnlyMount, ...]:
    """The mounts that a sandbox needs for `relayed_command`."""
    return (
        ReadOnlyMount(name=RELAY_MOUNT, source=_MOUNTED_PROGRAMS / "relay.py"),
        ReadOnlyMount(name=TUNNEL_MOUNT, source=_MOUNTED_PROGRAMS / "tunnel.py"),
        ReadOnlyMount(name=ENDPOINT_MOUNT, source=endpoint.socket.parent, live=True),
    )


def relayed_command(command: Command, sandbox: Sandbox, endpoint: ModelEndpoint) -> Command:
    """The command with its model endpoint at an address in the variables that clients read.

    It ends like the command itself. The command's own variables take precedence; in them
    `{agentbench-door}` stands for the address without a path.

    Raises:
        KeyError: the sandbox was opened without the endpoint's mounts.
    """
    relay = sandbox.mounted(RELAY_MOUNT)
    try:
        socket, beside = sandbox.mounted(ENDPOINT_MOUNT) / endpoint.socket.name, None
    except KeyError:  # its engine cannot mount our sockets
        socket = _TUNNEL_SOCKET
        beside = Sidecar(
            argv=_program_argv(sandbox.mounted(TUNNEL_MOUNT), _TUNNEL_SOCKET),
            attend=lambda stream: open_tunnel(stream, endpoint.socket),
        )
    return replace(
        command,
        argv=(*_program_argv(relay, socket), "--", *command.argv),
        env={**model_environment(endpoint), **command.env},
        sidecar=beside,
    )


def _program_argv(path: PurePosixPath, socket: PurePosixPath) -> tuple[str, ...]:
    return ("sh", "-c", _FIND_PYTHON, path.stem, str(path), str(socket))


def model_environment(endpoint: ModelEndpoint) -> Mapping[str, str]:
    """The variables that model clients read, with the values behind the relay."""
    return {
        "AGENTBENCH_MODEL": endpoint.model,
        **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{ADDRESS_PLACEHOLDER}/v1"),
        **dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), ADDRESS_PLACEHOLDER),
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), endpoint.token),
    }
