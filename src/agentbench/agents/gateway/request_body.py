"""The body of a request, read with a limit and unpacked."""

import json
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import json_object

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
"""Waits for the next part of a request, or for the client to go; ASGI's."""


class TooLargeError(Exception):
    """The body is larger than the gateway takes."""


class UnreadableError(Exception):
    """The body is packed in a way that the gateway does not know."""


class GoneError(Exception):
    """The client went away in the middle of it."""


async def whole_body(receive: Receive, headers: Mapping[str, str], *, limit: int) -> bytes:
    """The body, unpacked.

    Raises:
        TooLargeError: it has more bytes than the limit, packed or not.
        UnreadableError: it is packed as anything but gzip, or torn.
        GoneError: the client went away.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise TooLargeError
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise GoneError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limit:
            raise TooLargeError
    return _unpacked(b"".join(parts), headers.get("content-encoding", ""), limit)


def as_object(body: bytes) -> tuple[JsonObject | None, bytes]:
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
        raise UnreadableError(f"content-encoding {coding!r}: send it as it is, or in gzip")
    worker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either one
    try:
        unpacked = worker.decompress(body, limit + 1)
    except zlib.error as fault:
        raise UnreadableError(f"the body is not {coding}: {fault}") from fault
    if len(unpacked) > limit:
        raise TooLargeError
    if not worker.eof:
        raise UnreadableError(f"the body is not whole {coding}")
    return unpacked
