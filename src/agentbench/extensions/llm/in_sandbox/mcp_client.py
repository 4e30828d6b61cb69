"""An MCP client that runs in the sandbox, where a task's servers can be reached.

It reads a request from its standard input: a server, and the calls to make after its greeting. It
prints their results. It needs only the standard library of Python 3.8 or newer.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from http.client import HTTPResponse
from typing import Dict, Iterable, Iterator, List, Optional, Tuple, Union, cast
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

Message = Dict[str, object]

VERSION = "2025-06-18"
GREETING = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "agentbench", "version": "1"},
}
SECONDS = 55.0


class ProgramServer:
    """A server that is a program: a message a line."""

    def __init__(self, server: Message) -> None:
        """Start it."""
        arguments = cast("List[str]", server["args"])
        self.process = subprocess.Popen(
            [str(server["command"]), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, message: Message) -> Iterator[Message]:
        """Send a message, and yield messages until the program ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if "id" not in message:
            return
        for line in self.process.stdout:
            yield json.loads(line)

    def close(self) -> None:
        """End it."""
        self.process.kill()


class HttpServer:
    """A server with one address: each message is a request."""

    def __init__(self, server: Message) -> None:
        """Remember where it is."""
        self.url = str(server["url"])
        self.headers = dict(cast("Dict[str, str]", server["headers"]))

    def send(self, message: Message) -> Iterator[Message]:
        """Send a message, and yield those of the answer."""
        with post(self.url, self.headers, message) as answer:
            session = answer.headers.get("Mcp-Session-Id")
            if session:
                self.headers["Mcp-Session-Id"] = session
            if "text/event-stream" in (answer.headers.get("Content-Type") or ""):
                yield from (json.loads(data) for kind, data in events(answer) if kind == "message")
                return
            content = answer.read()
        if content.strip():
            yield json.loads(content)

    def close(self) -> None:
        """Do nothing: each request has its own connection."""


class StreamServer:
    """A server of the first HTTP transport: messages come on a stream of its own."""

    def __init__(self, server: Message) -> None:
        """Open the stream."""
        self.url = str(server["url"])
        self.headers = dict(cast("Dict[str, str]", server["headers"]))
        request = Request(self.url, headers={**self.headers, "Accept": "text/event-stream"})
        self.stream: HTTPResponse = urlopen(request, timeout=SECONDS)
        self.events: queue.Queue[Tuple[Optional[str], str]] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.endpoint = urljoin(self.url, self.next("endpoint"))

    def listen(self) -> None:
        """Collect what comes."""
        for event in events(self.stream):
            self.events.put(event)
        self.events.put((None, "the stream has ended"))

    def next(self, wanted: str) -> str:
        """The data of the next event of a kind."""
        while True:
            kind, data = self.events.get(timeout=SECONDS)
            if kind is None:
                raise OSError(data)
            if kind == wanted:
                return data

    def send(self, message: Message) -> Iterator[Message]:
        """Send a message, and yield messages of the stream."""
        with post(self.endpoint, self.headers, message) as answer:
            answer.read()
        while "id" in message:
            yield json.loads(self.next("message"))

    def close(self) -> None:
        """Do nothing: the stream ends with this program."""


Server = Union[ProgramServer, HttpServer, StreamServer]


def post(url: str, headers: Dict[str, str], message: Message) -> HTTPResponse:
    """The answer to a message."""
    own = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
    }
    request = Request(url, json.dumps(message).encode(), {**own, **headers})
    return cast("HTTPResponse", urlopen(request, timeout=SECONDS))


def events(stream: Iterable[bytes]) -> Iterator[Tuple[str, str]]:
    """The events of a stream: kind and data."""
    kind = "message"
    data: List[str] = []
    for raw in stream:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not line and data:
            yield kind, "\n".join(data)
            kind, data = "message", []
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)


def ask(server: Server, number: int, method: str, parameters: object) -> object:
    """The result of a request."""
    message: Message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    for answer in server.send(message):
        if answer.get("id") == number:
            if "error" in answer:
                raise OSError(str(answer["error"]))
            return answer.get("result")
    raise OSError("the server has ended without an answer")


def open_server(server: Message) -> Server:
    """A connection to a server."""
    if server["transport"] == "stdio":
        return ProgramServer(server)
    return StreamServer(server) if server["transport"] == "sse" else HttpServer(server)


def results_of(request: Message) -> List[object]:
    """The results of the calls in a request."""
    server = open_server(cast("Message", request["server"]))
    try:
        ask(server, 0, "initialize", GREETING)
        for _ in server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}):
            pass
        calls = cast("List[Tuple[str, object]]", request["calls"])
        numbered = enumerate(calls, start=1)
        return [ask(server, number, method, given) for number, (method, given) in numbered]
    finally:
        server.close()


def main() -> None:
    """Answer the request on standard input."""
    request: Message = json.loads(sys.stdin.buffer.read().decode())
    answer: Message
    try:
        answer = {"results": results_of(request)}
    except HTTPError as error:
        answer = {"error": f"HTTP status {error.code}"}
    except queue.Empty:
        answer = {"error": "no answer in time"}
    except (OSError, ValueError, AttributeError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
