"""The ASGI application of one attempt's endpoint: who may send requests, and how much."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import text
from agentbench.models.formats.interface import FormatAdapter
from agentbench.models.formats.registry import ApiRoute, likely_format, route_of
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.forwarding import RETRY_HEADER, ForwardingContext, forward
from agentbench.models.gateway.http_server import (
    ClientDisconnectedError,
    ClientRequest,
    Receive,
    RequestTooLargeError,
    Scope,
    Send,
    UnknownEncodingError,
    parse_and_rewrite,
)
from agentbench.models.gateway.network_access import network_access_in
from agentbench.models.gateway.upstream import ProviderRequest
from agentbench.models.interface import ModelErrorKind, ModelFailure
from agentbench.scoring.evidence import Severity

_OPENAI = re.compile(r"/(?:(?:v1|openai)/)*models(?:/(?P<name>.+))?/?")
_GOOGLE = re.compile(r"/v1(?:beta|alpha)/models(?:/(?P<name>.+))?/?")


def models_page(path: str, model: str) -> JsonObject | None:
    """The answer at a path of models; None if it is another path or another model."""
    entry: JsonObject = {
        "id": model,
        "object": "model",
        "type": "model",  # for Anthropic's clients, as is the date
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "display_name": model,
        "owned_by": "agentbench",
    }
    pages = {"has_more": False, "first_id": model, "last_id": model}
    google_entry: JsonObject = {
        "name": f"models/{model}",
        "displayName": model,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }
    answers: tuple[tuple[re.Pattern[str], JsonObject, JsonObject], ...] = (
        (_OPENAI, entry, {"object": "list", "data": [entry], **pages}),
        (_GOOGLE, google_entry, {"models": [google_entry]}),
    )
    for pattern, one, listed in answers:
        if found := pattern.fullmatch(path):
            name = found.group("name")
            if name is None:
                return listed
            return one if name == model else None
    return None


_MAX_QUOTED = 200  # characters of a path or a name in a finding
# The telemetry that clients send to their provider's address.
_TELEMETRY_PATH = re.compile(r"/api/.*")
_NO_RETRY_HEADERS = [(RETRY_HEADER, "false")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    """Why a request is refused before it is an exchange: for a finding, and for the client."""

    rule: str
    what: str
    message: str
    severity: Severity = Severity.WARNING
    kind: ModelErrorKind = ModelErrorKind.AUTH
    status: int = 403


_NO_TOKEN = _Refusal(
    rule="gateway-token",
    what="asked without the attempt's token; was refused",
    message="use the key that is in the environment",
    status=401,
)
_NO_MODEL_PATH = _Refusal(
    rule="gateway-path",
    what="asked for something else than its model's answers; was refused",
    message="{request} is not a way to a model",
)
_TELEMETRY = replace(_NO_MODEL_PATH, severity=Severity.INFO)
_OTHER_FORMAT = _Refusal(
    rule="gateway-wire",
    what="{model} does not speak {wire} here; it speaks {spoken}",
    message="{model} does not speak {wire} here; it speaks {spoken}",
    severity=Severity.INFO,
)
_TOO_LARGE = _Refusal(
    rule="gateway-request-size",
    what="sent more than {limit} MiB in one request; was refused",
    message="a request has {limit} MiB at most",
    kind=ModelErrorKind.CONTEXT_LENGTH,
    status=413,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointApplication:
    """The ASGI application of one endpoint."""

    model: str
    token: str
    budget_usd: float
    lane: str
    by: ForwardingContext
    finished: Callable[[ModelExchange], object]  # is called with every finished exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        client = ClientRequest(scope, receive, send)
        try:
            if client.path == "/" and client.method in {"GET", "HEAD"}:
                await client.answer(200, b"")  # a connectivity check
            elif not client.has_token(self.token):
                route = route_of(client.path)
                form = route.format if route else likely_format(client.path)
                await self._refuse(client, form, _NO_TOKEN)
            else:
                await self._admitted(client)
        except ClientDisconnectedError:
            return

    async def _admitted(self, client: ClientRequest) -> None:
        route = route_of(client.path)
        if route is not None and client.method == "POST":
            await self._answer(client, route)
            return
        page = models_page(client.path, self.model) if client.method == "GET" else None
        if page is not None:
            await client.answer_json(200, page)
        elif route is not None and client.header("upgrade"):
            await client.answer(426, b"")  # codex tries a WebSocket first and then uses HTTP
        else:
            refusal = _TELEMETRY if _TELEMETRY_PATH.fullmatch(client.path) else _NO_MODEL_PATH
            request = _request_line(client)
            await self._refuse(client, likely_format(client.path), refusal, request=request)

    async def _answer(self, client: ClientRequest, route: ApiRoute) -> None:
        formats, limit = self.by.upstream.api_formats, self.by.bounds.request_bytes
        if route.api_format not in formats:
            facts = {"wire": route.api_format.value, "spoken": ", ".join(sorted(formats))}
            await self._refuse(client, route.format, _OTHER_FORMAT, model=self.model, **facts)
            return
        try:
            body = await client.body(limit)
        except RequestTooLargeError:
            await self._refuse(client, route.format, _TOO_LARGE, limit=str(limit >> 20))
            return
        except UnknownEncodingError as fault:
            said = route.format.error_body(ModelErrorKind.MALFORMED, 415, str(fault))
            await client.answer_json(415, said, _NO_RETRY_HEADERS)
            return
        await self._exchange(client, route, body)

    async def _exchange(self, client: ClientRequest, route: ApiRoute, body: bytes) -> None:
        request, written = parse_and_rewrite(body)
        exchange = ModelExchange(
            time=datetime.now(UTC),
            started=self.by.clock(),
            route=route,
            path=client.path,
            model=route.model or str((request or {}).get("model", "")),
            request=request or {},
            lane=self.lane,
        )
        way_out = network_access_in(
            route.api_format, exchange.model, exchange.request, run_model=self.model
        )
        try:
            if request is None:
                await self._refuse_request(client, exchange, "the body is not a JSON object")
            elif way_out is not None:
                what, line = f"asked for {way_out}; was refused", _request_line(client)
                self.by.ledger.add_finding("gateway-way-out", Severity.WARNING, line, what)
                why = f"agents have no network; {way_out}, is refused: turn it off in the agent"
                await self._refuse_request(client, exchange, why)
            elif not route.counts_only and self.by.ledger.is_budget_spent():
                await self._refuse_cost(client, exchange)
            else:
                await self._forward(client, exchange, written)
        finally:
            exchange.seconds = self.by.clock() - exchange.started
            self.finished(exchange)

    async def _forward(self, client: ClientRequest, exchange: ModelExchange, body: bytes) -> None:
        self._check_model(exchange.model)
        if not exchange.route.counts_only:
            self.by.ledger.count_request()
        call = ProviderRequest(
            route=exchange.route,
            model=exchange.model,
            request=exchange.request,
            body=body,
            headers=client.headers,
            query=client.query,
            lane=self.lane,
        )
        await forward(client, call, exchange, self.by)

    def _check_model(self, model: str) -> None:
        if model != self.model:
            shown = text(model, _MAX_QUOTED)
            what = f"asked for the model {shown!r}; the run is of {self.model!r}"
            self.by.ledger.add_finding("gateway-other-model", Severity.WARNING, shown, what)

    async def _refuse(
        self, client: ClientRequest, form: FormatAdapter, refusal: _Refusal, **facts: str
    ) -> None:
        what, message = refusal.what.format(**facts), refusal.message.format(**facts)
        self.by.ledger.add_finding(refusal.rule, refusal.severity, _request_line(client), what)
        body = form.error_body(refusal.kind, refusal.status, f"agentbench gateway: {message}")
        await client.answer_json(refusal.status, body, _NO_RETRY_HEADERS)

    async def _refuse_request(
        self, client: ClientRequest, exchange: ModelExchange, why: str
    ) -> None:
        message = f"agentbench gateway: {why}"
        failure = ModelFailure(kind=ModelErrorKind.MALFORMED, status=400, message=message)
        exchange.failure, exchange.status = failure, 400
        self.by.ledger.failed(failure)
        body = exchange.format.error_body(failure.kind, 400, message)
        exchange.log_answer(await client.answer_json(400, body, _NO_RETRY_HEADERS))

    async def _refuse_cost(self, client: ClientRequest, exchange: ModelExchange) -> None:
        status = exchange.format.quota_status
        exchange.note = f"the attempt's budget of {self.budget_usd:g} USD is spent"
        message = f"You exceeded your current quota: agentbench gateway: {exchange.note}"
        exchange.status = status
        body = exchange.format.error_body(ModelErrorKind.QUOTA, status, message)
        exchange.log_answer(await client.answer_json(status, body, _NO_RETRY_HEADERS))


def _request_line(client: ClientRequest) -> str:
    return f"{text(client.method, 20)} {text(client.path, _MAX_QUOTED)}"
