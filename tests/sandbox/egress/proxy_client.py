"""A proxy on a unix socket, a web server behind it, and raw requests."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agentbench.core.network import AllowedHosts
from agentbench.sandbox.egress.proxy import EgressProxy, EgressRecord
from agentbench.sandbox.relay import LoopThread
from tests.patience import HANG_SECONDS


class WebServer(ThreadingHTTPServer):
    """Answers every request with what it was, and remembers all of them."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        super().__init__(address, _Handler)
        self.requests: list[tuple[str, str, Mapping[str, str], bytes]] = []

    @property
    def port(self) -> int:
        return self.server_address[1]

    @contextmanager
    def running(self) -> Iterator["WebServer"]:
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            thread.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(body)

    def do_CONNECT(self) -> None:
        """As a proxy of the machine: refuses, after it has been asked."""
        self.server.requests.append(("CONNECT", self.path, dict(self.headers), b""))
        self.send_error(407)

    def _answer(self, body: bytes) -> None:
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        text = f"{self.command} {self.path} {body.decode()}".encode()
        self.send_response(200)
        if self.path.startswith("/chunked"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
            return
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is printed."""


class ProxyClient:
    """Speaks to a proxy byte by byte."""

    def __init__(self, proxy: EgressProxy, loop: LoopThread, path: Path) -> None:
        self.proxy = proxy
        self._loop = loop
        self._path = path

    def allow(self, *hosts: str) -> None:
        self.proxy.hosts = AllowedHosts(hosts)

    def connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(HANG_SECONDS)
        connection.connect(str(self._path))
        return connection

    def ask(self, request: str | bytes) -> str:
        """All that comes back until the proxy closes."""
        data = request if isinstance(request, bytes) else request.encode()
        with self.connected() as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection)

    def records(self) -> list[EgressRecord]:
        """What was logged since the last call."""
        self._loop.run(self.proxy.cut())
        return [EgressRecord.model_validate_json(x) for x in self.proxy.log.take().splitlines()]


def read_all(connection: socket.socket) -> str:
    with connection.makefile("rb") as reader:
        return reader.read().decode()


@contextmanager
def started_proxy(folder: Path, env: Mapping[str, str]) -> Iterator[ProxyClient]:
    """A proxy that allows nothing yet."""
    path = folder / "proxy.sock"
    with closing(LoopThread()) as loop, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        proxy = EgressProxy(env)
        with loop.holding(proxy.serving(listener)):
            yield ProxyClient(proxy, loop, path)
