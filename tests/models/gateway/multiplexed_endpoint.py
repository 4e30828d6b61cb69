"""The carrier as a process of this machine: its streams are pipes there and a socket here."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agentbench.sandbox.mounted import tunnel
from agentbench.sandbox.relay import open_tunnel


@dataclass(frozen=True)
class Carried:
    socket: Path
    """Where clients come to."""
    process: subprocess.Popen[bytes]


@contextmanager
def carried(folder: Path, endpoint: Path, *, python: str = sys.executable) -> Iterator[Carried]:
    """A socket from which a carrier leads to an endpoint."""
    path = folder / "carried.sock"
    with _started(python, path) as process, _socket_to(process) as stream:
        with open_tunnel(stream, endpoint):
            yield Carried(path, process)
        process.kill()
        assert process.stderr is not None
        result = process.stderr.read().decode()
        assert result == "", result


@contextmanager
def _started(python: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    argv = [python, "-I", "-S", tunnel.__file__, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _socket_to(process: subprocess.Popen[bytes]) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()

    def feed() -> None:
        with suppress(OSError):
            while data := theirs.recv(65536):
                process.stdin.write(data)

    def drain() -> None:
        with suppress(OSError):
            while data := process.stdout.read(65536):
                theirs.sendall(data)
        theirs.shutdown(socket.SHUT_RDWR)

    threads = [threading.Thread(target=work) for work in (feed, drain)]
    with ours, theirs:
        for thread in threads:
            thread.start()
        try:
            yield ours
        finally:  # before the sockets are closed, also if the test has failed
            process.kill()
            for thread in threads:
                thread.join()
