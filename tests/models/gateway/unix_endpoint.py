"""An endpoint to a model behind which a function speaks, connection by connection."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agentbench.models.interface import ApiFormat, ModelTraffic


@dataclass(frozen=True)
class UnixEndpoint:
    socket: Path
    model: str = "scripted"
    token: str = "token-of-the-attempt"
    api_formats: tuple[ApiFormat, ...] = tuple(ApiFormat)

    def traffic(self) -> ModelTraffic:
        return ModelTraffic()


def echo(connection: socket.socket) -> None:
    """Says all back, then `end` once the client has ended, and ends."""
    while data := connection.recv(65536):
        connection.sendall(data)
    connection.sendall(b"end")


def reset(connection: socket.socket) -> None:
    """Breaks the connection after the first bytes."""
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def flood(connection: socket.socket) -> None:
    """Sends for as long as the client is there."""
    while True:
        connection.sendall(b"x" * 65536)


@contextmanager
def unix_endpoint(folder: Path, speak: Callable[[socket.socket], None]) -> Iterator[UnixEndpoint]:
    """An endpoint in a folder of its own."""
    folder.mkdir()
    folder.chmod(0o755)
    path = folder / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(512)
        threads: list[threading.Thread] = []
        accepting = threading.Thread(target=_accept, args=(listener, speak, threads))
        accepting.start()
        try:
            yield UnixEndpoint(path)
        finally:  # also after an error: a thread that waits for ever would keep this process alive
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


def _accept(
    listener: socket.socket,
    speak: Callable[[socket.socket], None],
    threads: list[threading.Thread],
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threads.append(threading.Thread(target=_speak, args=(connection, speak)))
        threads[-1].start()


def _speak(connection: socket.socket, speak: Callable[[socket.socket], None]) -> None:
    with connection, suppress(ConnectionError):
        speak(connection)
