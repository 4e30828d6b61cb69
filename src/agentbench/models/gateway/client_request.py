"""One request of one client: reads its body with a limit, and sends the answer."""

import hmac
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object
from agentbench.models.gateway.http_server import Receive, Scope, Send, abort_connection

ReceiveMessage = Callable[[], Awaitable[Mapping[str, Any]]]
"""ASGI's function that waits for the next part of a request, or for its end."""


class RequestTooLargeError(Exception):
    """The body exceeds the gateway's limit."""


class UnknownEncodingError(Exception):
    """The body has an unknown content encoding."""


class ClientDisconnectedError(Exception):
    """The client disconnected during the request."""


async def read_body(receive: ReceiveMessage, headers: Mapping[str, str], *, limit: int) -> bytes:
    """The decoded body.

    Raises:
        RequestTooLargeError: it exceeds the limit, encoded or decoded.
        UnknownEncodingError: its encoding is not gzip, or it is damaged.
        ClientDisconnectedError: the client disconnected.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise RequestTooLargeError
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnectedError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limit:
            raise RequestTooLargeError
    return _unpacked(b"".join(parts), headers.get("content-encoding", ""), limit)


def parse_and_rewrite(body: bytes) -> tuple[JsonObject | None, bytes]:
    """A body parsed as JSON and written again, so that the provider reads what was checked here.

    Of duplicate names or invalid text a provider might read something else. None: the body cannot
    be parsed or written.
    """
    read = json_object(body.decode("utf-8", "replace"))
    try:
        return read, b"" if read is None else json.dumps(read).encode()
    except RecursionError:
        return None, b""


def _unpacked(body: bytes, coding: str, limit: int) -> bytes:
    if coding.lower() in {"", "identity"}:
        return body
    if coding.lower() not in {"gzip", "x-gzip", "deflate"}:
        raise UnknownEncodingError(f"content-encoding {coding!r}: send it as it is, or in gzip")
    worker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # zlib or gzip
    try:
        unpacked = worker.decompress(body, limit + 1)
    except zlib.error as fault:
        raise UnknownEncodingError(f"the body is not {coding}: {fault}") from fault
    if len(unpacked) > limit:
        raise RequestTooLargeError
    if not worker.eof:
        raise UnknownEncodingError(f"the body is not whole {coding}")
    return unpacked


_TOKEN_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


class ClientRequest:
    """One request of one client."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]]
        self.answer_started = False  # its head was sent
        self.done = False

    def header(self, name: str) -> str:
        """The value of a header; empty if it is missing."""
        return next((value for each, value in self.headers if each == name), "")

    def has_token(self, token: str) -> bool:
        """Whether it has the token, in any place where clients put their keys."""
        scheme, _, bearer = self.header("authorization").partition(" ")
        shown = [bearer if scheme.lower() == "bearer" else ""]
        shown += [self.header(name) for name in _TOKEN_HEADERS]
        shown += parse_qs(self.query).get("key", [])
        wanted = token.encode()
        return any(hmac.compare_digest(each.encode("utf-8", "replace"), wanted) for each in shown)

    async def body(self, limit: int) -> bytes:
        """The decoded body; raises what `read_body` raises."""
        return await read_body(self._receive, dict(self.headers), limit=limit)

    async def wait_for_disconnect(self) -> None:
        """Wait until the client disconnects or has the whole answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start_answer(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head of the answer."""
        self.answer_started = True
        coded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": coded})

    async def send_chunk(self, data: bytes, *, last: bool = False) -> None:
        """Send a part of the answer."""
        self.done |= last
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def answer(
        self, status: int, data: bytes, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a whole answer."""
        await self.start_answer(status, [*headers, ("content-length", str(len(data)))])
        await self.send_chunk(data, last=True)

    async def answer_json(
        self, status: int, value: JsonObject, headers: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        """Send a whole answer of the gateway; returns its body."""
        data = json.dumps(value).encode()
        await self.answer(status, data, [("content-type", "application/json"), *headers])
        return data

    def cut(self) -> None:
        """Abort the connection, so that the client sees that the answer is incomplete."""
        abort_connection(self._scope)
