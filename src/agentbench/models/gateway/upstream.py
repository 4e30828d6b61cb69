"""HTTP from the gateway to a model's provider, and one small request before a run."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

import httpx2

from agentbench.core.display_text import Redactor
from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object
from agentbench.errors import UnavailableError, UsageError
from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.providers import ProviderAccess
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure
from agentbench.models.provider_errors import failure_of_response

Headers = Sequence[tuple[str, str]]

# Headers of one connection, and headers that we set.
_HOP_HEADERS = (
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    "transfer-encoding upgrade content-length content-encoding"
)
_CLIENT_HEADERS = "accept-encoding expect cookie"
# Of any provider or proxy: with these a client could have a request refused, sent elsewhere, or
# billed to another account, as with OpenAI-Organization, X-Goog-User-Project or X-Forwarded-Host.
_CHOOSES_ACCOUNT = re.compile(
    r"organi[sz]ation|\borg\b|project|account|tenant|workspace|team|billing|subscription|consumer"
    r"|host|forward|authority|proxy|upstream|target|original|rewrite|override|ur[il]\b|real-?ip"
    r"|region|location|deployment|api-?key|^key$|token|secret|auth|quota",
    re.IGNORECASE,
)
_ACCOUNT_HEADERS = (
    "date server set-cookie alt-svc openai-organization openai-project anthropic-organization-id"
)
_DROPPED_FROM_REQUESTS = frozenset((*_HOP_HEADERS.split(), *_CLIENT_HEADERS.split()))
_DROPPED_FROM_RESPONSES = frozenset((*_HOP_HEADERS.split(), *_ACCOUNT_HEADERS.split()))
_MAX_IDLE_CONNECTIONS = 256
_IDLE_SECONDS = 30.0  # seconds
PROBE_SECONDS = 4.5
"""A provider's model that does not answer for this long counts as unavailable."""
LOADING_SECONDS = 120.0
"""The same for a server of one's own: Ollama and llama.cpp load 30 B parameters in a minute."""
_MAX_COMMENTS = 1024  # bytes before the first event of a stream
_SILENT_SECONDS = 3.0  # before the wait is announced
_SKIP_HINT = "or skip this check with --no-probe"
_USER = {"role": "user", "content": "Say ok."}
_MIN_OUTPUT_TOKENS = 16  # tokens; OpenAI's minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """The limits of an answer; one beyond them is cut and counts as a failure."""

    connect_s: float = 10.0
    idle_s: float = 600.0  # without a byte
    total_s: float = 3600.0
    request_bytes: int = 32 << 20
    answer_bytes: int = 64 << 20
    patience_s: float = 60.0  # a client that leaves after this long without a byte gave up waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """A request for the provider."""

    route: ApiRoute
    model: str
    request: JsonObject
    body: bytes
    headers: Headers = ()
    query: str = ""
    lane: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResponse:
    """The head of an answer, and its body in chunks."""

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]  # raises UpstreamError

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of server-sent events."""
        kind = next((v for name, v in self.headers if name == "content-type"), "")
        return self.status < 300 and kind.startswith("text/event-stream")


class UpstreamError(Exception):
    """The provider did not answer completely."""

    def __init__(self, kind: ModelErrorKind, message: str) -> None:
        super().__init__(message)
        self.failure = ModelFailure(kind=kind, message=message)


class Upstream(Protocol):
    """A source of answers."""

    @property
    def api_formats(self) -> tuple[ApiFormat, ...]:
        """The API formats, the model's main one first."""

    def send(self, call: ProviderRequest) -> AbstractAsyncContextManager[ProviderResponse]:
        """Send a request; the rest of its answer is dropped at the end of the block.

        Raises:
            UpstreamError: no answer came.
        """


class LiveUpstream:
    """Sends requests to the provider."""

    def __init__(self, endpoints: ProviderAccess, client: httpx2.AsyncClient) -> None:
        self._endpoints = endpoints
        self._client = client
        others = (wire for wire in endpoints.by_format if wire is not endpoints.main)
        self.api_formats = (endpoints.main, *others)

    @asynccontextmanager
    async def send(self, call: ProviderRequest) -> AsyncIterator[ProviderResponse]:
        endpoint = self._endpoints.by_format[call.route.api_format]
        url = endpoint.url
        if call.route.api_format is ApiFormat.GEMINI_GENERATE:
            url = f"{url}/{call.route.model}:{call.route.action}"
        elif call.route.counts_only:
            url = f"{url}/count_tokens"
        # A client must not choose another account or project than the run's own.
        pairs = parse_qsl(call.query, keep_blank_values=True)
        query = [pair for pair in pairs if not _CHOOSES_ACCOUNT.search(pair[0].replace("_", "-"))]
        url = f"{url}?{urlencode(query)}" if query else url
        headers = [
            (name, value)
            for name, value in _filtered_headers(call.headers, _DROPPED_FROM_REQUESTS)
            if not _CHOOSES_ACCOUNT.search(name.replace("_", "-"))
        ]
        for name in endpoint.key_headers if endpoint.key is not None else ():
            bearer = "Bearer " if name == "authorization" else ""
            headers.append((name, f"{bearer}{endpoint.key}"))
        headers.append(("accept-encoding", "identity"))
        request = self._client.build_request("POST", url, headers=headers, content=call.body)
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.TransportError as fault:
            is_timeout = isinstance(fault, httpx2.TimeoutException)
            if is_timeout and not isinstance(fault, httpx2.ConnectTimeout):
                message = "the provider did not answer in time"
                raise UpstreamError(ModelErrorKind.TIMEOUT, message) from fault
            message = f"the provider cannot be reached: {_error_text(fault)}"
            raise UpstreamError(ModelErrorKind.CONNECTION, message) from fault
        try:
            headers = _filtered_headers(response.headers.multi_items(), _DROPPED_FROM_RESPONSES)
            chunks = _response_chunks(response)
            yield ProviderResponse(status=response.status_code, headers=headers, chunks=chunks)
        finally:
            await response.aclose()


def provider_http_client(bounds: AnswerLimits) -> httpx2.AsyncClient:
    """The HTTP client for providers; created and closed in one event loop."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(bounds.idle_s, connect=bounds.connect_s, pool=None),
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=_MAX_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        ),
    )


def _filtered_headers(headers: Headers, left_out: frozenset[str]) -> list[tuple[str, str]]:
    named = {
        name.strip().lower()
        for header, value in headers
        if header.lower() == "connection"
        for name in value.split(",")
    }
    return [
        (name.lower(), value)
        for name, value in headers
        if name.lower() not in left_out and name.lower() not in named
    ]


async def _response_chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx2.TimeoutException as fault:
        message = "the provider sent nothing more for too long"
        raise UpstreamError(ModelErrorKind.TIMEOUT, message) from fault
    except (httpx2.TransportError, httpx2.DecodingError) as fault:
        message = f"the provider's answer was cut off: {_error_text(fault)}"
        raise UpstreamError(ModelErrorKind.CUT_STREAM, message) from fault


def _error_text(fault: Exception) -> str:
    return " ".join(str(fault).split()) or type(fault).__name__


def probe_seconds(endpoints: ProviderAccess) -> float:
    """How long to wait for the first answer of a model."""
    return LOADING_SECONDS if endpoints.is_own_server else PROBE_SECONDS


async def probe_model(
    endpoints: ProviderAccess,
    model: str,
    *,
    seconds: float | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Send a request for a few tokens in the model's main API format.

    Args:
        endpoints: The addresses of the model.
        model: Its name, as its provider knows it.
        seconds: How long to wait for the answer; None: longer for a server of one's own.
        say: Receives a line if the answer takes long.

    Raises:
        UsageError: the key, the model's name or the base URL is wrong, or the account is empty.
        UnavailableError: no answer came in time, or the server failed.
    """
    seconds = probe_seconds(endpoints) if seconds is None else seconds
    bounds = AnswerLimits(connect_s=PROBE_SECONDS, idle_s=seconds, total_s=seconds)
    url = endpoints.by_format[endpoints.main].url
    waiting = f"waiting up to {seconds:g} s for {url} to load {model}"
    loop = asyncio.get_running_loop()
    async with provider_http_client(bounds) as client:
        upstream, newer = LiveUpstream(endpoints, client), ApiFormat.OPENAI_RESPONSES
        announcement = loop.call_later(min(_SILENT_SECONDS, seconds / 2), say, waiting)
        failure = await _send_probe(upstream, endpoints.main, model, bounds)
        announcement.cancel()
        if failure and "v1/responses" in failure.message and newer in endpoints.by_format:
            # Some of OpenAI's models support only this format.
            failure = await _send_probe(upstream, newer, model, bounds)
    if failure is not None:
        message = Redactor(endpoints.keys).text(failure.message) or f"HTTP status {failure.status}"
        _raise_if_unusable(failure, message, endpoints, model)


async def _send_probe(
    upstream: LiveUpstream, api_format: ApiFormat, model: str, bounds: AnswerLimits
) -> ModelFailure | None:
    """The error in an answer; for a success the first event of its stream is enough."""
    request = _probe_request(api_format, model)
    action = "streamGenerateContent" if api_format is ApiFormat.GEMINI_GENERATE else ""
    call = ProviderRequest(
        route=ApiRoute(api_format=api_format, model=model, action=action),
        model=model,
        request=request,
        body=json.dumps(request).encode(),
        headers=[("content-type", "application/json"), ("anthropic-version", "2023-06-01")],
        query="alt=sse" if action else "",
    )
    try:
        async with asyncio.timeout(bounds.total_s), upstream.send(call) as answer:
            if answer.status < 300 and answer.is_stream:
                begun = b""
                async for chunk in answer.chunks:
                    begun += chunk
                    # Some servers send comments for as long as the model loads.
                    if b"data:" in begun or len(begun) > _MAX_COMMENTS:
                        return None
                message = "its stream has no event"
                return ModelFailure(kind=ModelErrorKind.SERVER_ERROR, message=message)
            body = b"".join([chunk async for chunk in answer.chunks])
            if answer.status >= 300:
                return failure_of_response(answer.status, body)
            if json_object(body.decode("utf-8", "replace")) is not None:
                # A server that does not stream.
                return None
            start = " ".join(body[:80].decode("utf-8", "replace").split())
            message = f"expected JSON, found {start!r}"
            return ModelFailure(kind=ModelErrorKind.SERVER_ERROR, message=message)
    except UpstreamError as fault:
        return fault.failure
    except TimeoutError:
        message = f"no answer within {bounds.total_s:g} s"
        return ModelFailure(kind=ModelErrorKind.TIMEOUT, message=message)


def _probe_request(api_format: ApiFormat, model: str) -> JsonObject:
    match api_format:
        case ApiFormat.OPENAI_CHAT:
            limit = {"max_tokens": _MIN_OUTPUT_TOKENS}
            return {"model": model, "messages": [_USER], "stream": True, **limit}
        case ApiFormat.OPENAI_RESPONSES:
            limit = {"max_output_tokens": _MIN_OUTPUT_TOKENS}
            return {"model": model, "input": "Say ok.", "stream": True, "store": False, **limit}
        case ApiFormat.ANTHROPIC_MESSAGES:
            return {"model": model, "messages": [_USER], "stream": True, "max_tokens": 1}
        case ApiFormat.GEMINI_GENERATE:
            content = {"role": "user", "parts": [{"text": "Say ok."}]}
            return {"contents": [content], "generationConfig": {"maxOutputTokens": 1}}


def _raise_if_unusable(
    failure: ModelFailure, message: str, endpoints: ProviderAccess, model: str
) -> None:
    """Raise an error that stops a run; a busy server, or one that rejects the request, is fine."""
    url = endpoints.by_format[endpoints.main].url
    variable = endpoints.key_variable
    match failure.kind:
        case ModelErrorKind.AUTH:
            raise UsageError(
                f"{url} does not accept the key in {variable}: {message}; set {variable}"
            )
        case ModelErrorKind.QUOTA:
            raise UsageError(f"the account of the key in {variable} has no credit left: {message}")
        case ModelErrorKind.UNKNOWN_MODEL:
            unknown = f"{url} has no model {model!r}"
            raise UsageError(f"{unknown}: {message}; check --model and --base-url")
        case ModelErrorKind.CONNECTION | ModelErrorKind.TIMEOUT | ModelErrorKind.SERVER_ERROR:
            raise UnavailableError(
                f"{url}: {message}; check --base-url and the network, {_SKIP_HINT}"
            )
        case ModelErrorKind.CUT_STREAM:
            raise UnavailableError(f"{url}: {message}; try again, {_SKIP_HINT}")
        case _:
            return
