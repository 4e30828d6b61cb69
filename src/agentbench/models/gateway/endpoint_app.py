"""The ASGI application of one attempt's endpoint: who may send requests, and how much."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import text
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
    for pattern, one, listed in (
        (_OPENAI, _openai_model, _openai_list),
        (_GOOGLE, _google_model, _google_list),
    ):
        if found := pattern.fullmatch(path):
            name = found.group("name")
            if name is None:
                return listed(model)
            return one(model) if name == model else None
    return None


def _openai_model(model: str) -> JsonObject:
    """One entry, also in the form that Anthropic's clients read."""
    return {
        "id": model,
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "display_name": model,
        "owned_by": "agentbench",
    }


def _openai_list(model: str) -> JsonObject:
    pages = {"has_more": False, "first_id": model, "last_id": model}
    return {"object": "list", "data": [_openai_model(model)], **pages}


def _google_model(model: str) -> JsonObject:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {
        "name": f"models/{model}",
        "displayName": model,
        "supportedGenerationMethods": methods,
    }


def _google_list(model: str) -> JsonObject:
    return {"models": [_google_model(model)]}


_MAX_QUOTED = 200  # characters of a path or a name in a finding
# The telemetry that clients send to their provider's address.
_TELEMETRY_PATH = re.compile(r"/api/.*")
_NO_RETRY_HEADERS = [(RETRY_HEADER, "false")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointApplication:
    """The ASGI application of one endpoint."""

    model: str
    token: str
    budget_usd: float
    lane: str
    by: ForwardingContext
    finished: Callable[[ModelExchange], None]  # is called with every finished exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        client = ClientRequest(scope, receive, send)
        try:
            if client.path == "/" and client.method in {"GET", "HEAD"}:
                await client.answer(200, b"")  # a connectivity check
            elif not client.has_token(self.token):
                await self._refuse_token(client)
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
            await self._refuse_path(client)

    async def _answer(self, client: ClientRequest, route: ApiRoute) -> None:
        if route.api_format not in self.by.upstream.api_formats:
            await self._refuse_format(client, route)
            return
        try:
            body = await client.body(self.by.bounds.request_bytes)
        except RequestTooLargeError:
            await self._refuse_size(client, route)
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
                await self._refuse_network_access(client, exchange, way_out)
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

    async def _refuse_token(self, client: ClientRequest) -> None:
        what = "asked without the attempt's token; was refused"
        self.by.ledger.add_finding("gateway-token", Severity.WARNING, _request_line(client), what)
        message = "agentbench gateway: use the key that is in the environment"
        route = route_of(client.path)
        form = route.format if route else likely_format(client.path)
        body = form.error_body(ModelErrorKind.AUTH, 401, message)
        await client.answer_json(401, body, _NO_RETRY_HEADERS)

    async def _refuse_path(self, client: ClientRequest) -> None:
        harmless = _TELEMETRY_PATH.fullmatch(client.path) is not None
        severity = Severity.INFO if harmless else Severity.WARNING
        what = "asked for something else than its model's answers; was refused"
        self.by.ledger.add_finding("gateway-path", severity, _request_line(client), what)
        message = f"agentbench gateway: {_request_line(client)} is not a way to a model"
        body = likely_format(client.path).error_body(ModelErrorKind.AUTH, 403, message)
        await client.answer_json(403, body, _NO_RETRY_HEADERS)

    async def _refuse_format(self, client: ClientRequest, route: ApiRoute) -> None:
        spoken = ", ".join(sorted(wire.value for wire in self.by.upstream.api_formats))
        what = f"{self.model} does not speak {route.api_format.value} here; it speaks {spoken}"
        self.by.ledger.add_finding("gateway-wire", Severity.INFO, _request_line(client), what)
        body = route.format.error_body(ModelErrorKind.AUTH, 403, f"agentbench gateway: {what}")
        await client.answer_json(403, body, _NO_RETRY_HEADERS)

    async def _refuse_size(self, client: ClientRequest, route: ApiRoute) -> None:
        limit = self.by.bounds.request_bytes >> 20
        what = f"sent more than {limit} MiB in one request; was refused"
        self.by.ledger.add_finding(
            "gateway-request-size", Severity.WARNING, _request_line(client), what
        )
        message = f"agentbench gateway: a request has {limit} MiB at most"
        body = route.format.error_body(ModelErrorKind.CONTEXT_LENGTH, 413, message)
        await client.answer_json(413, body, _NO_RETRY_HEADERS)

    async def _refuse_network_access(
        self, client: ClientRequest, exchange: ModelExchange, way_out: str
    ) -> None:
        what = f"asked for {way_out}; was refused"
        self.by.ledger.add_finding("gateway-way-out", Severity.WARNING, _request_line(client), what)
        message = f"agents have no network; {way_out}, is refused: turn it off in the agent"
        await self._refuse_request(client, exchange, message)

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
