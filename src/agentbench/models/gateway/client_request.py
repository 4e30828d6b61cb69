"""One request of one client: its body, read with a limit, and the answer that it is sent."""

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
"""Waits for the next part of a request, or for the client to go; ASGI's."""


class RequestTooLargeError(Exception):
    """The body is larger than the gateway takes."""


class UnknownEncodingError(Exception):
    """The body is packed in a way that the gateway does not know."""


class ClientDisconnectedError(Exception):
    """The client went away in the middle of it."""


async def read_body(receive: ReceiveMessage, headers: Mapping[str, str], *, limit: int) -> bytes:
    """The body, unpacked.

    Raises:
        RequestTooLargeError: it has more bytes than the limit, packed or not.
        UnknownEncodingError: it is packed as anything but gzip, or torn.
        ClientDisconnectedError: the client went away.
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
    """A body read as JSON, and written anew: what was read is then all that there is to read.

    Of a name that is given twice, or of bytes that are no text, a provider might read something
    else than was looked at here. What cannot be read, or not be written again, is None.
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
    worker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either one
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
        self.answer_started = False  # to be answered
        self.done = False

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return next((value for each, value in self.headers if each == name), "")

    def has_token(self, token: str) -> bool:
        """Whether it shows a token, in any place where clients put their keys."""
        scheme, _, bearer = self.header("authorization").partition(" ")
        shown = [bearer if scheme.lower() == "bearer" else ""]
        shown += [self.header(name) for name in _TOKEN_HEADERS]
        shown += parse_qs(self.query).get("key", [])
        wanted = token.encode()
        return any(hmac.compare_digest(each.encode("utf-8", "replace"), wanted) for each in shown)

    async def body(self, limit: int) -> bytes:
        """The body, unpacked.

        Raises:
            TooLargeError: it has more bytes than the limit.
            UnreadableError: it is packed in an unknown way.
            GoneError: the client went away.
        """
        return await read_body(self._receive, dict(self.headers), limit=limit)

    async def wait_for_disconnect(self) -> None:
        """Wait until the client is, or has all of its answer."""
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
        """Send a whole answer of our own; returns its body."""
        data = json.dumps(value).encode()
        await self.answer(status, data, [("content-type", "application/json"), *headers])
        return data

    def cut(self) -> None:
        """Break off, so that the client sees that the answer is not whole."""
        abort_connection(self._scope)
