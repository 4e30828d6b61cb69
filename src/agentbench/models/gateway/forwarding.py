"""Forwards one request to the provider and its answer back, and counts tokens."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agentbench.core.display_text import Redactor
from agentbench.core.untrusted_json import json_object, text
from agentbench.models.formats.interface import stream_events
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.http_server import ClientRequest
from agentbench.models.gateway.ledger import Ledger
from agentbench.models.gateway.upstream import (
    AnswerLimits,
    ProviderRequest,
    ProviderResponse,
    Upstream,
    UpstreamError,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure, TokenCounts
from agentbench.models.provider_errors import failure_of_body, failure_of_response
from agentbench.scoring.evidence import Severity

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_MAX_EVENT_END = 4
_PENDING_LIMIT = 1 << 20  # bytes of an unfinished event; longer ones are forwarded in parts
_DONE_MARK = "[DONE]"
RETRY_HEADER = "x-should-retry"
"""The header that the SDKs of OpenAI and Anthropic obey."""
_NOT_RETRYABLE = frozenset(
    {ModelErrorKind.AUTH, ModelErrorKind.QUOTA, ModelErrorKind.UNKNOWN_MODEL}
)
_UNKNOWN_FIELD_STATUSES = frozenset({400, 422})  # statuses for a field that a server does not know
_TOO_LONG = "the provider's answer is longer than {} MiB, and was cut off"
_NO_TOKENS = "the model's answer has no token counts; its tokens are not counted"
_REFUSED = "the model refused to answer"
_ESTIMATED = "the answer was stopped before its token counts; they are estimated from its text"
_REPEATED = "the model answered the agent's last request when the gateway repeated it"
_BYTES_PER_TOKEN = 4
_REPEATED_HEADERS = (("content-type", "application/json"), ("anthropic-version", "2023-06-01"))
_UNFINISHED = "the provider's stream ended before its answer did"


class EventSplitter:
    """Joins arbitrary chunks to whole events."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that are complete now, each with its empty last line."""
        search_from = max(len(self._pending) - _MAX_EVENT_END, 0)
        self._pending += chunk
        start = 0
        for found in _EVENT_END.finditer(self._pending, search_from):
            yield bytes(self._pending[start : found.end()])
            start = found.end()
        del self._pending[:start]
        if len(self._pending) > _PENDING_LIMIT:
            yield self.rest()

    def rest(self) -> bytes:
        """The unfinished event."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest


class StreamReader:
    """Reads tokens and the end of an answer from its events."""

    def __init__(self, exchange: ModelExchange, *, amended: bool) -> None:
        """Watch an exchange; `amended`: the gateway amended its request."""
        self._format = exchange.format
        self._amended = amended
        self.tokens: TokenCounts | None = None
        self.ended = False
        self.failure: ModelFailure | None = None
        self.refused = False

    def passes(self, event: bytes) -> bool:
        """Read an event; False if the client did not ask for it."""
        lines = event.decode("utf-8", "replace").splitlines()
        data = "\n".join(line[5:].strip() for line in lines if line.startswith("data:"))
        if data == _DONE_MARK:
            self.ended = True
            return True
        payload = json_object(data) if data else None
        if payload is None:
            return True
        self.tokens = self._format.tokens(payload, self.tokens)
        self.ended |= self._format.ends(payload)
        self.refused |= self._format.refuses(payload)
        error = self._format.error(payload)
        if error is not None and self.failure is None:
            self.failure = failure_of_body(error, status=200)
        return not (self._amended and self._format.is_extra(payload))


_BAD_GATEWAY, _TIMED_OUT = 502, 504


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingContext:
    """The common state of all requests of an attempt."""

    upstream: Upstream
    bounds: AnswerLimits
    ledger: Ledger
    keys: Redactor  # the secrets that no client may see
    clock: Callable[[], float] = time.monotonic


async def forward(
    client: ClientRequest, call: ProviderRequest, exchange: ModelExchange, by: ForwardingContext
) -> None:
    """Send a client the answer of its model; its tokens are counted before the client gets it."""
    state = _ForwardedAnswer(client, exchange, by)
    carrying = asyncio.ensure_future(state.forward(call))
    leaving = asyncio.ensure_future(client.wait_for_disconnect())
    try:
        await asyncio.wait({carrying, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not carrying.done() and not client.done:
            if not state.ended:
                state.record_disconnect()
            carrying.cancel()
        await asyncio.wait({carrying})
    finally:
        carrying.cancel()
        leaving.cancel()
        await asyncio.wait({carrying, leaving})
        state.estimate_tokens()
    if not carrying.cancelled():
        carrying.result()  # raises if our own code failed


async def repeat_failed_request(by: ForwardingContext) -> None:
    """Repeat the last request if it failed, unless by the agent's own error; an answer clears it.

    An agent can make a request fail, for example by leaving before the answer. The attempt is
    repeated, and out of the second rate, only if the model does not answer the gateway either.
    """
    call = by.ledger.unanswered_call
    if call is None:
        return
    exchange = ModelExchange(
        time=datetime.now(UTC),
        started=by.clock(),
        route=call.route,
        path="",
        model=call.model,
        request=call.request,
    )
    watch, has_answer = StreamReader(exchange, amended=False), False
    try:
        async with (
            asyncio.timeout(by.bounds.patience_s),
            by.upstream.send(_streamed(call)) as answer,
        ):
            if answer.is_stream:
                splitter = EventSplitter()
                async for chunk in answer.chunks:
                    for event in splitter.feed(chunk):
                        watch.passes(event)
                        has_answer = True
                has_answer = watch.ended
            elif answer.status < 300:
                body = b"".join([chunk async for chunk in answer.chunks])
                payload = json_object(body.decode("utf-8", "replace"))
                has_answer = payload is not None and exchange.format.error(payload) is None
    except UpstreamError:
        return
    except TimeoutError:
        pass  # an answer that has begun is one
    if has_answer and watch.failure is None:
        by.ledger.answered()
        by.ledger.add_finding("gateway-repeated", Severity.INFO, call.model, _REPEATED)


def _streamed(call: ProviderRequest) -> ProviderRequest:
    """The request with the gateway's own headers, as a stream: a long answer begins at once."""
    route, request, query = call.route, call.request, ""
    if route.api_format is ApiFormat.GEMINI_GENERATE:
        route, query = replace(route, action="streamGenerateContent"), "alt=sse"
    else:
        request = {**request, "stream": True}
    return replace(
        call,
        route=route,
        request=request,
        body=json.dumps(request).encode(),
        headers=_REPEATED_HEADERS,
        query=query,
    )


@dataclass(slots=True)
class _ForwardedAnswer:
    client: ClientRequest
    exchange: ModelExchange
    by: ForwardingContext
    ended: bool = False  # the whole answer was sent, except the end of the stream
    is_stream: bool = False
    is_stopped: bool = False  # by the client, or by a limit of the gateway
    call: ProviderRequest | None = None

    async def forward(self, call: ProviderRequest) -> None:
        """Send the request, and forward the answer."""
        self.call = call
        amended = self.exchange.format.amended(call.request)
        try:
            async with asyncio.timeout(self.by.bounds.total_s):
                if amended is not None:
                    body = json.dumps(amended).encode()
                    better = replace(call, request=amended, body=body)
                    if await self._send(better, amended=True):
                        return
                await self._send(call, amended=False)
        except UpstreamError as fault:
            await self._break_off(fault.failure)
        except TimeoutError:
            seconds = self.by.bounds.total_s
            message = f"the provider did not finish within {seconds:.0f} s"
            self.is_stopped = True
            await self._break_off(UpstreamError(ModelErrorKind.TIMEOUT, message).failure)

    def record_disconnect(self) -> None:
        """Record a disconnected client: a failure of the model only if it sent nothing for long."""
        self.exchange.abandoned = self.is_stopped = True
        waited = self.by.clock() - self.exchange.started
        if self.exchange.first_byte_s is None:
            message = f"the client left after {waited:.0f} s without an answer"
            failure = ModelFailure(kind=ModelErrorKind.TIMEOUT, message=message)
            if waited >= self.by.bounds.patience_s:
                self._fail(failure)
            elif self._is_of_the_run:
                # At a short limit of the agent's; at its end the gateway asks the model again.
                self.by.ledger.failed(failure, self.call, is_certain=False)

    def estimate_tokens(self) -> None:
        """Count the tokens of a stopped stream by its words, unless it has reported all of them.

        A stream that the provider cuts counts as far as it has reported its tokens.
        """
        known = self.exchange.tokens
        if not (self.is_stream and self.is_stopped and self.exchange.answer):
            return
        self.is_stopped = False  # it is counted once
        if self.ended and known is not None:
            return
        known = known or TokenCounts()
        events = list(stream_events(self.exchange.answer.decode("utf-8", "replace")))
        said = self.exchange.format.streamed_message(events)
        calls = "".join(f"{call.name} {json.dumps(call.arguments)}" for call in said.calls)
        # Responses of OpenAI: only the pieces are there before an item is complete.
        pieces = "".join(text(event.get("delta")) for event in events)
        words = max(f"{said.text} {said.reasoning} {calls}", pieces, key=len)
        logged, left_out = len(self.exchange.answer), self.exchange.left_out
        output = _estimated(words) * (logged + left_out) // logged
        request = _estimated(json.dumps(self.exchange.request))
        tokens = replace(known, input=known.input or request, output=max(known.output, output))
        self.by.ledger.count_tokens(self.exchange, tokens)
        path = self.exchange.path
        self.by.ledger.add_finding("gateway-estimated-usage", Severity.INFO, path, _ESTIMATED)

    async def _send(self, call: ProviderRequest, *, amended: bool) -> bool:
        """Whether the answer can be forwarded; not if the provider rejects our amendment."""
        async with self.by.upstream.send(call) as answer:
            if answer.is_stream:
                self.is_stream = True
                await self._stream(answer, amended=amended)
                return True
            body = b"".join([chunk async for chunk in self._bounded_chunks(answer)])
            data = self.by.keys.data(body)
            if amended and answer.status in _UNKNOWN_FIELD_STATUSES and b"stream_options" in data:
                return False
            self.exchange.status = answer.status
            self.exchange.log_answer(data)
            if not self.exchange.route.counts_only:
                self._record_answer(answer.status, data)
                self._miss_tokens()
            events = None if self.exchange.failure else self._events_of(call, data)
            if events is None:
                await self.client.answer(answer.status, data, self._headers(answer))
                return True
            await self.client.start_answer(answer.status, [("content-type", "text/event-stream")])
            await self.client.send_chunk(events)
            await self.client.send_chunk(b"", last=True)
            return True

    def _events_of(self, call: ProviderRequest, data: bytes) -> bytes | None:
        """The stream that the client asked for, from a server that answered with the whole message.

        Clients that stream would take the answer for one that is cut off. None: the client asked
        for no stream, or the format has no stream of whole messages.
        """
        payload = json_object(data.decode("utf-8", "replace"))
        if payload is None or call.request.get("stream") is not True:
            return None
        events = self.exchange.format.events_of(payload)
        lines = (f"data: {json.dumps(event)}\n\n" for event in events)
        return "".join((*lines, f"data: {_DONE_MARK}\n\n")).encode() if events else None

    async def _bounded_chunks(self, answer: ProviderResponse) -> AsyncIterator[bytes]:
        size, limit = 0, self.by.bounds.answer_bytes
        async for chunk in answer.chunks:
            if self.exchange.first_byte_s is None:
                self.exchange.first_byte_s = self.by.clock() - self.exchange.started
            size += len(chunk)
            if size > limit:
                self.is_stopped = True
                raise UpstreamError(ModelErrorKind.CUT_STREAM, _TOO_LONG.format(limit >> 20))
            yield chunk

    def _record_answer(self, status: int, data: bytes) -> None:
        if status >= 300:
            self._fail(failure_of_response(status, data))
            return
        payload = json_object(data.decode("utf-8", "replace"))
        if payload is None:
            message = "the provider's answer is not JSON"
            kind = ModelErrorKind.SERVER_ERROR
            self._fail(ModelFailure(kind=kind, status=status, message=message))
            return
        tokens = self.exchange.format.tokens(payload)
        if tokens is not None:
            self.by.ledger.count_tokens(self.exchange, tokens)
        error = self.exchange.format.error(payload)
        if error is not None:
            self._fail(failure_of_body(error, status=status))
        elif self.exchange.format.refuses(payload):
            self._fail(_refusal(status))
        else:
            self._answered()

    async def _stream(self, answer: ProviderResponse, *, amended: bool) -> None:
        watch, splitter = StreamReader(self.exchange, amended=amended), EventSplitter()
        self.exchange.status = answer.status
        await self.client.start_answer(answer.status, self._masked(answer))
        async for chunk in self._bounded_chunks(answer):
            for event in splitter.feed(chunk):
                await self._pass_on(event, watch)
        if rest := splitter.rest():
            await self._pass_on(rest, watch)
        if not watch.ended:
            raise UpstreamError(ModelErrorKind.CUT_STREAM, _UNFINISHED)
        self._miss_tokens()
        await self.client.send_chunk(b"", last=True)

    async def _pass_on(self, event: bytes, watch: StreamReader) -> None:
        ended, known, failure = watch.ended, watch.tokens, watch.failure
        is_requested = watch.passes(event)
        if watch.tokens is not None and watch.tokens != known:
            self.by.ledger.count_tokens(self.exchange, watch.tokens)
        if watch.failure is not failure and watch.failure is not None:
            self._fail(watch.failure)
            watch.ended = True
        elif watch.ended and not ended:
            if watch.refused:
                self._fail(_refusal(200))
            else:
                self._answered()
        if is_requested:
            data = self.by.keys.data(event)
            self.exchange.log_answer(data)
            await self.client.send_chunk(data)
        self.ended = watch.ended

    async def _break_off(self, failure: ModelFailure) -> None:
        if self.exchange.failure is None:
            self._fail(failure)
        if self.client.answer_started:
            self.estimate_tokens()  # before the client sees the end, and may ask for the costs
            self.client.cut()
            return
        status = _TIMED_OUT if failure.kind is ModelErrorKind.TIMEOUT else _BAD_GATEWAY
        self.exchange.status = status
        message = f"agentbench gateway: {failure.message}"
        body = self.exchange.format.error_body(failure.kind, status, message)
        self.exchange.log_answer(json.dumps(body).encode())
        await self.client.answer_json(status, body)

    def _miss_tokens(self) -> None:
        if self.exchange.tokens is None and self.exchange.failure is None:
            path = self.exchange.path
            self.by.ledger.add_finding("gateway-no-usage", Severity.INFO, path, _NO_TOKENS)

    def _fail(self, failure: ModelFailure) -> None:
        message = self.by.keys.text(failure.message)
        self.exchange.failure = replace(failure, message=message)
        if self._is_of_the_run:
            self.by.ledger.failed(self.exchange.failure, self.call)

    def _answered(self) -> None:
        if self._is_of_the_run:
            self.by.ledger.answered()

    @property
    def _is_of_the_run(self) -> bool:
        """Whether it shows that the run's model works: an agent may ask for one that nobody has."""
        is_answer = not self.exchange.route.counts_only
        return is_answer and self.exchange.model == self.by.ledger.model

    def _masked(self, answer: ProviderResponse) -> list[tuple[str, str]]:
        return [(name, self.by.keys.text(value)) for name, value in answer.headers]

    def _headers(self, answer: ProviderResponse) -> list[tuple[str, str]]:
        """The answer's headers; clients are asked not to retry if that cannot help."""
        headers, failure = self._masked(answer), self.exchange.failure
        says_so = any(name == RETRY_HEADER for name, _ in headers)
        if failure is not None and failure.kind in _NOT_RETRYABLE and not says_so:
            headers.append((RETRY_HEADER, "false"))
        return headers


def _estimated(words: str) -> int:
    """About as many tokens as most models have for a text."""
    return max(len(words.split()), len(words.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def _refusal(status: int) -> ModelFailure:
    return ModelFailure(kind=ModelErrorKind.REFUSAL, status=status, message=_REFUSED)
