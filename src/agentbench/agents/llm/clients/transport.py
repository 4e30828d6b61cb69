"""The way through the door: HTTP over its socket, with a deadline and a size for whole answers."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2

SIZE_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer."""


class DoorTransport(httpx2.BaseTransport):
    """Speaks over a unix socket; what a request allows for one read, it allows for the whole."""

    def __init__(self, socket: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = httpx2.HTTPTransport(uds=str(socket))
        self._clock = clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; the answer's stream is bounded."""
        allowed = request.extensions.get("timeout", {}).get("read")
        deadline = None if allowed is None else self._clock() + allowed
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        bounded = _Bounded(response.stream, request, lambda: self._is_over(deadline))
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=bounded,
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _is_over(self, deadline: float | None) -> bool:
        return deadline is not None and self._clock() > deadline


class _Bounded(httpx2.SyncByteStream):
    def __init__(
        self, inner: httpx2.SyncByteStream, request: httpx2.Request, is_over: Callable[[], bool]
    ) -> None:
        self._inner = inner
        self._request = request
        self._is_over = is_over

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            if self._is_over():
                raise httpx2.ReadTimeout("the answer did not end in time", request=self._request)
            if size > SIZE_LIMIT:
                raise httpx2.RemoteProtocolError(
                    f"the answer has more than {SIZE_LIMIT} bytes", request=self._request
                )
            yield chunk

    def close(self) -> None:
        self._inner.close()
