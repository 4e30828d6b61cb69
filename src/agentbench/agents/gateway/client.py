"""The client's side of one request: what it sent, and what it is told."""

import hmac
import json
from collections.abc import Sequence
from urllib.parse import parse_qs

from agentbench.agents.gateway.listening import Receive, Scope, Send, cut
from agentbench.agents.gateway.request_body import whole_body
from agentbench.pytest_results.model import JsonObject

_TOKEN_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


class Client:
    """One request of one client."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]]
        self.began = False  # to be answered
        self.done = False

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return next((value for each, value in self.headers if each == name), "")

    def bears(self, token: str) -> bool:
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
        return await whole_body(self._receive, dict(self.headers), limit=limit)

    async def gone(self) -> None:
        """Wait until the client is, or has all of its answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head of the answer."""
        self.began = True
        coded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": coded})

    async def tell(self, data: bytes, *, last: bool = False) -> None:
        """Send a part of the answer."""
        self.done |= last
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def answer(
        self, status: int, data: bytes, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a whole answer."""
        await self.begin(status, [*headers, ("content-length", str(len(data)))])
        await self.tell(data, last=True)

    async def answer_json(
        self, status: int, value: JsonObject, headers: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        """Send a whole answer of our own; returns its body."""
        data = json.dumps(value).encode()
        await self.answer(status, data, [("content-type", "application/json"), *headers])
        return data

    def cut(self) -> None:
        """Break off, so that the client sees that the answer is not whole."""
        cut(self._scope)
