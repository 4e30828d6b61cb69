import asyncio
import gzip
import zlib

import pytest

from agentbench.models.gateway.http_server import (
    ClientDisconnectedError,
    ClientRequest,
    RequestTooLargeError,
    UnknownEncodingError,
)


def read(*parts: bytes | None, limit: int = 100, **headers: str) -> bytes:
    """The body that comes in these parts; None: the client goes away."""
    messages = [
        {"type": "http.disconnect"}
        if part is None
        else {"type": "http.request", "body": part, "more_body": at < len(parts) - 1}
        for at, part in enumerate(parts)
    ]
    coming = iter(messages)

    async def receive():
        return next(coming)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": "POST", "path": "/", "query_string": b"", "headers": named}
    return asyncio.run(ClientRequest(scope, receive, send=None).body(limit))


def test_parts_are_put_together() -> None:
    assert read(b"a", b"", b"bc") == b"abc"
    assert read(b"x" * 100) == b"x" * 100


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_it_is_unpacked(pack) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"
    assert read(pack(b"abc"), content_encoding=coding) == b"abc"


def test_too_much_is_refused_before_it_is_read() -> None:
    with pytest.raises(RequestTooLargeError):
        read(content_length="101")
    with pytest.raises(RequestTooLargeError):
        read(b"x" * 60, b"x" * 60, b"never asked for")
    with pytest.raises(RequestTooLargeError):
        read(gzip.compress(b"x" * 1000), content_encoding="gzip")


@pytest.mark.parametrize("coding", ["zstd", "br", "gzip, gzip"])
def test_an_unknown_packing_is_named(coding: str) -> None:
    with pytest.raises(UnknownEncodingError, match=coding):
        read(b"abc", content_encoding=coding)


def test_a_torn_one_is_told() -> None:
    with pytest.raises(UnknownEncodingError):
        read(b"abc", content_encoding="gzip")
    with pytest.raises(UnknownEncodingError, match="incomplete"):
        read(gzip.compress(b"abc")[:-4], content_encoding="gzip")


def test_a_client_that_goes_away_in_the_middle_is_gone() -> None:
    with pytest.raises(ClientDisconnectedError):
        read(b"a", None)
