"""What answers at one attempt's door: who may ask, for what, and how much."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from agentbench.agents.gateway.client import Client
from agentbench.agents.gateway.exchange import Exchange
from agentbench.agents.gateway.forwarding import RETRY, Forwarding, forward
from agentbench.agents.gateway.listening import Receive, Scope, Send
from agentbench.agents.gateway.models_page import models_page
from agentbench.agents.gateway.reaching_out import reaching_out
from agentbench.agents.gateway.request_body import (
    GoneError,
    TooLargeError,
    UnreadableError,
    as_object,
)
from agentbench.agents.gateway.upstream import Call
from agentbench.agents.gateway.wires.known import Route, likely_format, route_of
from agentbench.agents.model_door import ModelErrorKind, ModelFailure
from agentbench.pytest_results.untrusted import text
from agentbench.scoring.evidence import Severity

_SHOWN = 200  # characters of a path or a name in a finding
# What clients of models tell of themselves to wherever they think their provider is.
_OWN_NEWS = re.compile(r"/api/.*")
_NO_RETRY = [(RETRY, "false")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorApplication:
    """The ASGI application of one door."""

    model: str
    token: str
    budget_usd: float
    lane: str
    by: Forwarding
    finished: Callable[[Exchange], None]  # is handed every exchange at its end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        client = Client(scope, receive, send)
        try:
            if client.path == "/" and client.method in {"GET", "HEAD"}:
                await client.answer(200, b"")  # is anybody there?
            elif not client.bears(self.token):
                await self._refuse_token(client)
            else:
                await self._admitted(client)
        except GoneError:
            return

    async def _admitted(self, client: Client) -> None:
        route = route_of(client.path)
        if route is not None and client.method == "POST":
            await self._ask(client, route)
            return
        page = models_page(client.path, self.model) if client.method == "GET" else None
        if page is not None:
            await client.answer_json(200, page)
        elif route is not None and client.header("upgrade"):
            await client.answer(426, b"")  # a try of codex: without a WebSocket it takes HTTP
        else:
            await self._refuse_path(client)

    async def _ask(self, client: Client, route: Route) -> None:
        if route.wire not in self.by.upstream.wires:
            await self._refuse_wire(client, route)
            return
        try:
            body = await client.body(self.by.bounds.request_bytes)
        except TooLargeError:
            await self._refuse_size(client, route)
            return
        except UnreadableError as fault:
            said = route.format.error_body(ModelErrorKind.MALFORMED, 415, str(fault))
            await client.answer_json(415, said, _NO_RETRY)
            return
        await self._exchange(client, route, body)

    async def _exchange(self, client: Client, route: Route, body: bytes) -> None:
        request, written = as_object(body)
        exchange = Exchange(
            time=datetime.now(UTC),
            started=self.by.clock(),
            route=route,
            path=client.path,
            model=route.model or str((request or {}).get("model", "")),
            request=request or {},
            lane=self.lane,
        )
        way_out = reaching_out(route.wire, exchange.model, exchange.request, run_model=self.model)
        try:
            if request is None:
                await self._refuse_request(client, exchange, "the body is no JSON object")
            elif way_out is not None:
                await self._refuse_way_out(client, exchange, way_out)
            elif not route.counts_only and self.by.ledger.refuses():
                await self._refuse_cost(client, exchange)
            else:
                await self._forward(client, exchange, written)
        finally:
            exchange.seconds = self.by.clock() - exchange.started
            self.finished(exchange)

    async def _forward(self, client: Client, exchange: Exchange, body: bytes) -> None:
        self._look_at_model(exchange.model)
        if not exchange.route.counts_only:
            self.by.ledger.begin()
        call = Call(
            route=exchange.route,
            model=exchange.model,
            request=exchange.request,
            body=body,
            headers=client.headers,
            query=client.query,
            lane=self.lane,
        )
        await forward(client, call, exchange, self.by)

    def _look_at_model(self, model: str) -> None:
        if model != self.model:
            shown = text(model, _SHOWN)
            what = f"asked for the model {shown!r}; the run is of {self.model!r}"
            self.by.ledger.note("gateway-other-model", Severity.WARNING, shown, what)

    async def _refuse_token(self, client: Client) -> None:
        what = "asked without the attempt's token; was refused"
        self.by.ledger.note("gateway-token", Severity.WARNING, _shown(client), what)
        message = "agentbench gateway: use the key that is in the environment"
        route = route_of(client.path)
        form = route.format if route else likely_format(client.path)
        body = form.error_body(ModelErrorKind.AUTH, 401, message)
        await client.answer_json(401, body, _NO_RETRY)

    async def _refuse_path(self, client: Client) -> None:
        harmless = _OWN_NEWS.fullmatch(client.path) is not None
        severity = Severity.INFO if harmless else Severity.WARNING
        what = "asked for something else than its model's answers; was refused"
        self.by.ledger.note("gateway-path", severity, _shown(client), what)
        message = f"agentbench gateway: {_shown(client)} is no way to a model"
        body = likely_format(client.path).error_body(ModelErrorKind.AUTH, 403, message)
        await client.answer_json(403, body, _NO_RETRY)

    async def _refuse_wire(self, client: Client, route: Route) -> None:
        spoken = ", ".join(sorted(wire.value for wire in self.by.upstream.wires))
        what = f"{self.model} does not speak {route.wire.value} here; it speaks {spoken}"
        self.by.ledger.note("gateway-wire", Severity.INFO, _shown(client), what)
        body = route.format.error_body(ModelErrorKind.AUTH, 403, f"agentbench gateway: {what}")
        await client.answer_json(403, body, _NO_RETRY)

    async def _refuse_size(self, client: Client, route: Route) -> None:
        limit = self.by.bounds.request_bytes >> 20
        what = f"sent more than {limit} MiB in one request; was refused"
        self.by.ledger.note("gateway-request-size", Severity.WARNING, _shown(client), what)
        message = f"agentbench gateway: a request has {limit} MiB at most"
        body = route.format.error_body(ModelErrorKind.CONTEXT_LENGTH, 413, message)
        await client.answer_json(413, body, _NO_RETRY)

    async def _refuse_way_out(self, client: Client, exchange: Exchange, way_out: str) -> None:
        what = f"asked for {way_out}; was refused"
        self.by.ledger.note("gateway-way-out", Severity.WARNING, _shown(client), what)
        message = f"agents have no network; {way_out}, is refused: turn it off in the agent"
        await self._refuse_request(client, exchange, message)

    async def _refuse_request(self, client: Client, exchange: Exchange, why: str) -> None:
        message = f"agentbench gateway: {why}"
        failure = ModelFailure(kind=ModelErrorKind.MALFORMED, status=400, message=message)
        exchange.failure, exchange.status = failure, 400
        self.by.ledger.failed(failure)
        body = exchange.format.error_body(failure.kind, 400, message)
        exchange.keep(await client.answer_json(400, body, _NO_RETRY))

    async def _refuse_cost(self, client: Client, exchange: Exchange) -> None:
        status = exchange.format.quota_status
        exchange.note = f"the attempt's budget of {self.budget_usd:g} USD is spent"
        message = f"You exceeded your current quota: agentbench gateway: {exchange.note}"
        exchange.status = status
        body = exchange.format.error_body(ModelErrorKind.QUOTA, status, message)
        exchange.keep(await client.answer_json(status, body, _NO_RETRY))


def _shown(client: Client) -> str:
    return f"{text(client.method, 20)} {text(client.path, _SHOWN)}"
