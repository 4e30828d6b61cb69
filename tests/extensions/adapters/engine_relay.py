"""A socket in front of an engine's own, which a test can cut: then the engine is unreachable."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread

ENGINE = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
_CHUNK = 1 << 16


class EngineRelay:
    def __init__(self, path: Path) -> None:
        self.base_url = f"unix://{path}"
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._lock = Lock()
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> None:
        with self._lock:
            self._path.unlink(missing_ok=True)
            for each in (self._listener, *self._open):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._open):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(ENGINE)
            with self._lock:
                if not self._path.exists():
                    client.close()
                    engine.close()
                    return
                self._open += [client, engine]
            for pair in ((client, engine), (engine, client)):
                self._threads.append(Thread(target=_pass_on, args=pair))
                self._threads[-1].start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def relayed_engine(folder: Path) -> Iterator[EngineRelay]:
    relay = EngineRelay(folder / f"engine-{os.getpid()}.sock")
    try:
        yield relay
    finally:
        relay.close()
