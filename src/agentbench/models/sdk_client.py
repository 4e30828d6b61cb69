"""The client over the SDKs of OpenAI and Anthropic, on an endpoint's socket and with limits."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Protocol

import httpx2

from agentbench.core.schema import JsonObject
from agentbench.models.conversation import Conversation, ModelAnswer, ToolSpec, UnansweredError
from agentbench.models.interface import ModelEndpoint, ModelErrorKind, ModelFailure
from agentbench.models.provider_errors import unanswered_error

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The most bytes of an answer."""
BASE_URL = "http://gateway"
"""The base URL; its host name has no meaning."""


class EndpointTransport(httpx2.BaseTransport):
    """HTTP over a unix socket; a request's read timeout limits the whole answer."""

    def __init__(self, socket: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = httpx2.HTTPTransport(uds=str(socket))
        self._clock = clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the answer's stream is bounded."""
        allowed = request.extensions.get("timeout", {}).get("read")
        deadline = math.inf if allowed is None else self._clock() + allowed
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        bounded = _BoundedStream(response.stream, request, lambda: self._clock() > deadline)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=bounded,
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


@dataclass(frozen=True, slots=True)
class _BoundedStream(httpx2.SyncByteStream):
    inner: httpx2.SyncByteStream
    request: httpx2.Request
    is_over: Callable[[], bool]

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.inner:
            size += len(chunk)
            if self.is_over():
                raise httpx2.ReadTimeout("the answer did not end in time", request=self.request)
            if size > MAX_ANSWER_BYTES:
                message = f"the answer has more than {MAX_ANSWER_BYTES} bytes"
                raise httpx2.RemoteProtocolError(message, request=self.request)
            yield chunk

    def close(self) -> None:
        """Close the connection."""
        self.inner.close()


def endpoint_http_client(endpoint: ModelEndpoint) -> httpx2.Client:
    """An HTTP client that only reaches the endpoint; proxy variables are ignored."""
    return httpx2.Client(transport=EndpointTransport(endpoint.socket), trust_env=False)


class SdkEvent(Protocol):
    """An event as both SDKs have it."""

    def to_dict(self, *, warnings: bool) -> JsonObject:
        """The fields that were sent."""


SdkStream = AbstractContextManager[Iterable[SdkEvent]]


@dataclass(frozen=True, slots=True)
class SdkClient:
    """Sends requests with an SDK, and reads its streams."""

    library: ModuleType  # `openai` or `anthropic`
    send: Callable[[Conversation, Sequence[ToolSpec], float], SdkStream]
    read: Callable[[Iterable[JsonObject]], ModelAnswer | None]  # None if the stream is incomplete
    close: Callable[[], None]

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> ModelAnswer:
        """The model's answer, read from a stream."""
        with _library_errors(self.library, ModelErrorKind.CONNECTION):
            stream = self.send(conversation, tools, timeout.total_seconds())
        with stream as events, _library_errors(self.library, ModelErrorKind.CUT_STREAM):
            answer = self.read(event.to_dict(warnings=False) for event in events)
        if answer is None:
            message = "the stream ended before the answer did"
            raise _unanswered(ModelErrorKind.CUT_STREAM, message)
        return answer


@contextmanager
def _library_errors(library: ModuleType, otherwise: ModelErrorKind) -> Iterator[None]:
    """Turn all exceptions of an SDK into UnansweredError; broken connections are `otherwise`."""
    try:
        yield
    except library.APIStatusError as error:
        raise unanswered_error(
            error.status_code, error.body, error.message, error.response.headers
        ) from error
    except (library.APITimeoutError, httpx2.TimeoutException) as error:
        raise _connection_error(ModelErrorKind.TIMEOUT, error) from error
    except (library.APIConnectionError, httpx2.TransportError, httpx2.StreamError) as error:
        raise _connection_error(otherwise, error) from error
    except library.APIError as error:  # from an event of a stream
        raise unanswered_error(200, error.body, error.message, {}) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # No JSON, or of another shape.
        shape = f"an answer that cannot be read: {type(error).__name__}: {error}"
        raise _unanswered(ModelErrorKind.CUT_STREAM, shape) from error


def _connection_error(kind: ModelErrorKind, error: Exception) -> UnansweredError:
    cause = error.__cause__ or error
    message = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    return _unanswered(kind, message)


def _unanswered(kind: ModelErrorKind, message: str) -> UnansweredError:
    return UnansweredError(ModelFailure(kind=kind, message=message))
