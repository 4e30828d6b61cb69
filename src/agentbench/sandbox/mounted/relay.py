"""Runs a command whose HTTP to a port of its own 127.0.0.1 reaches a unix socket, and no more.

    python3 -I -S relay.py SOCKET PLACEHOLDER -- ARGV...
    python3 -I -S relay.py SOCKET --detach

The command gets the address in place of PLACEHOLDER in all its variables. It uses our streams, and
we end as it ends: same exit code, same signal. Without a command, the port is printed, and a
process that stays forwards it. Standard library only; runs on Python 3.7 to 3.14.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import suppress

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_CHUNK_BYTES = 64 * 1024
_BACKLOG = 1024


def main() -> None:
    """Relay for as long as the command runs, then end as it did."""
    path, placeholder, *argv = sys.argv[1:]
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    if placeholder == "--detach":
        listener.listen(_BACKLOG)
        # Print the port, and continue as a process without a parent, a terminal or streams.
        if os.fork():
            os.write(1, b"%d\n" % listener.getsockname()[1])
            os._exit(0)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
    else:
        assert argv.pop(0) == "--"
    code = asyncio.run(_serve(path, listener, placeholder, argv))
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        # The first process of a namespace survives signals that it sends itself.
        code = 128 - code
    sys.exit(code)


async def _serve(path: str, listener: socket.socket, placeholder: str, argv: list[str]) -> int:
    """The command's return code, negative for a signal, as `subprocess` has it."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await _relay(path, reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(relay, sock=listener, backlog=_BACKLOG)
    if not argv:
        await server.serve_forever()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    environment = {name: value.replace(placeholder, url) for name, value in os.environ.items()}
    # Caught from before the command exists, so that none meant for it ends us first.
    loop = asyncio.get_event_loop()
    received: asyncio.Queue[int] = asyncio.Queue()
    forwarded = [
        each for each in _FORWARDED_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN
    ]
    for caught in (signal.SIGCHLD, *forwarded):
        loop.add_signal_handler(caught, received.put_nowait, caught)
    try:
        child = subprocess.Popen(argv, env=environment)
    except OSError as fault:
        sys.stderr.write(f"agentbench-relay: {argv[0]}: {fault.strerror}\n")
        return _NOT_FOUND if isinstance(fault, FileNotFoundError) else _NOT_EXECUTABLE
    while child.poll() is None:
        number = await received.get()
        if number != signal.SIGCHLD:
            child.send_signal(number)
    return child.returncode


async def _relay(path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes in both directions until both have ended, or one has failed."""
    far_reader, far_writer = await asyncio.open_unix_connection(path)
    try:
        copies = (_copy(reader, far_writer), _copy(far_reader, writer))
        tasks = [asyncio.ensure_future(copy) for copy in copies]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in pending:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not pending and not any(task.exception() for task in done):
            far_writer.close()
            writer.close()
            await writer.wait_closed()  # until all bytes have arrived
    finally:
        far_writer.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while True:
        data = await source.read(_CHUNK_BYTES)
        if not data:
            break
        target.write(data)
        await target.drain()
    target.write_eof()


if __name__ == "__main__":
    main()
