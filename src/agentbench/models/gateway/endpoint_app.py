"""The endpoint of one attempt: accepts requests to its model, and refuses network access.

Providers can run tools themselves, have models that search, and fetch images and documents from
addresses. Only tools that a client runs itself are allowed; other and unknown kinds are refused.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
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
from agentbench.models.gateway.upstream import ProviderRequest
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure
from agentbench.scoring.evidence import Severity

_MAX_QUOTED_TOOL = 80  # characters
_SEARCHING_MODEL = re.compile(r":online$|search|\bsonar\b|\bcompound\b|deep-?research")

# Kinds of tools that clients run themselves, that draw, or that search among other tools, by the
# providers' references (read in November 2026). Anthropic's end in a date.
_CLIENT_SIDE_TOOLS = re.compile(
    r"function|custom|local_shell|apply_patch|computer|computer_use_preview|namespace"
    r"|image_generation|tool_search|tool_search_tool_(regex|bm25)"
    r"|(bash|text_editor|computer|memory|tool_search_tool_(regex|bm25))_\d{8}"
)
# All names below are lower case and without `_`: see `_fields`.
_GEMINI_CLIENT_SIDE = frozenset({"functiondeclarations", "computeruse"})
# Fields that enable search or remote tools: of OpenAI, OpenRouter, xAI, Anthropic, Groq,
# Azure, DashScope and Mistral.
_SEARCH_FIELDS = frozenset(
    {"websearchoptions", "plugins", "searchparameters", "mcpservers", "compoundcustom"}
    | {"searchsettings", "datasources", "enablesearch", "websearch", "connectors"}
)
_CONTENT_FIELDS = frozenset(
    {"messages", "input", "contents", "system", "systeminstruction", "instructions"}
)
_ADDRESSES = frozenset({"url", "imageurl", "videourl", "audiourl", "fileurl", "fileuri"})
# Some servers accept addresses in these.
_DATA = frozenset({"data", "filedata"})
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
# The exchange between a model and its tools, which may have any content.
_FREE_FORM_FIELDS = frozenset({"input", "args", "arguments", "response", "toolcalls"})
_OPENAI = re.compile(r"/(?:(?:v1|openai)/)*models(?:/(?P<name>.+))?/?")
_GOOGLE = re.compile(r"/v1(?:beta|alpha)/models(?:/(?P<name>.+))?/?")
_MAX_QUOTED = 200  # characters of a path or a name in a finding
# The telemetry that clients send to their provider's address.
_TELEMETRY_PATH = re.compile(r"/api/.*")
_NO_RETRY_HEADERS = [(RETRY_HEADER, "false")]


def network_access_in(
    api_format: ApiFormat, model: str, request: JsonObject, *, run_model: str
) -> str | None:
    """The first network access in a request; the run's own model is always allowed.

    Args:
        api_format: The API format of the request.
        model: The requested model.
        request: Its body.
        run_model: The run's own model, which the user chose and which is always allowed.
    """
    if model != run_model and _SEARCHING_MODEL.search(model.lower()):
        return f"the model {text(model, _MAX_QUOTED_TOOL)!r}, which searches by itself"
    for carrier in _tool_holders(request):
        for name, value in _fields(carrier):
            if name in _SEARCH_FIELDS and value:
                return f"the field {name!r}, with which the provider searches or calls tools"
            for tool in objects(value) if name == "tools" else ():
                for kind in _provider_side_tools(api_format, tool):
                    return f"the tool {text(kind, _MAX_QUOTED_TOOL)!r}, which the provider runs"
    for address in _addresses(request):
        return f"the address {text(address, _MAX_QUOTED_TOOL)!r}, which the provider fetches"
    return None


def _tool_holders(request: JsonObject) -> Iterator[JsonObject]:
    """The objects that can name tools: the request, its Google extensions, its messages."""
    yield request
    for name, value in _fields(request):
        if name == "extrabody" and isinstance(value, dict):
            yield value
            yield from objects(list(value.values()))
        elif name == "input":
            yield from objects(value)


def _provider_side_tools(api_format: ApiFormat, tool: JsonObject) -> Iterator[str]:
    """The kinds of a tool and of nested tools that are not known as run by the client."""
    waiting = [tool]
    while waiting:
        tool = waiting.pop()
        for name, value in _fields(tool):
            if api_format is ApiFormat.GEMINI_GENERATE:
                if name not in _GEMINI_CLIENT_SIDE:
                    yield name
            elif name == "tools":
                waiting += objects(value)
            elif name == "type":
                environment = tool.get("environment")
                is_local = isinstance(environment, dict) and environment.get("type") == "local"
                is_known = isinstance(value, str) and _CLIENT_SIDE_TOOLS.fullmatch(value)
                if not (is_local if value == "shell" else is_known):
                    yield str(value)


def _addresses(request: JsonObject) -> Iterator[str]:
    """The addresses of content that the provider would fetch."""
    waiting = [value for name, value in _fields(request) if name in _CONTENT_FIELDS]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        for name, value in _fields(part) if isinstance(part, dict) else ():
            if not isinstance(value, str):
                waiting += [value] if name not in _FREE_FORM_FIELDS else []
            elif name in _ADDRESSES:
                yield from [value] if value and not value.lower().startswith("data:") else []
            elif name in _DATA and _ADDRESS.match(value) is not None:
                yield value


def _fields(fields: JsonObject) -> Iterator[tuple[str, object]]:
    """Fields by name as the most lenient servers read them: any case, with or without `_`."""
    for name, value in fields.items():
        yield name.replace("_", "").lower(), value


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
    if found := _OPENAI.fullmatch(path):
        one, listed = entry, {"object": "list", "data": [entry], **pages}
    elif found := _GOOGLE.fullmatch(path):
        one, listed = google_entry, {"models": [google_entry]}
    else:
        return None
    if found["name"] is None:
        return listed
    return one if found["name"] == model else None


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
    what="sent a request without the attempt's token; was refused",
    message="use the key that is in the environment",
    status=401,
)
_NO_MODEL_PATH = _Refusal(
    rule="gateway-path",
    what="requested something other than its model's answers; was refused",
    message="{request} does not lead to a model",
)
_TELEMETRY = replace(_NO_MODEL_PATH, severity=Severity.INFO)
_OTHER_FORMAT = _Refusal(
    rule="gateway-api-format",
    what="{model} does not speak {wire} here; it speaks {spoken}",
    message="{model} does not speak {wire} here; it speaks {spoken}",
    severity=Severity.INFO,
)
_TOO_LARGE = _Refusal(
    rule="gateway-request-size",
    what="sent more than {limit} MiB in one request; was refused",
    message="a request may have at most {limit} MiB",
    kind=ModelErrorKind.CONTEXT_LENGTH,
    status=413,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointApplication:
    """The ASGI application of one endpoint."""

    model: str
    token: str
    lane: str
    by: ForwardingContext
    finished: Callable[[ModelExchange], object]  # is called with every finished exchange
    on_request: Callable[[datetime], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = ClientRequest(scope, receive, send)
        route = route_of(client.path)
        try:
            if client.path == "/" and client.method in {"GET", "HEAD"}:
                # A connectivity check.
                await client.answer(200, b"")
            elif not client.has_token(self.token):
                form = route.format if route else likely_format(client.path)
                await self._refuse(client, form, _NO_TOKEN)
            else:
                await self._admitted(client, route)
        except ClientDisconnectedError:
            return

    async def _admitted(self, client: ClientRequest, route: ApiRoute | None) -> None:
        if route is not None and client.method == "POST":
            await self._answer(client, route)
            return
        page = models_page(client.path, self.model) if client.method == "GET" else None
        if page is not None:
            await client.answer_json(200, page)
        elif route is not None and client.header("upgrade"):
            # Codex tries a WebSocket first and then uses HTTP.
            await client.answer(426, b"")
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
            error_body = route.format.error_body(ModelErrorKind.MALFORMED, 415, str(fault))
            await client.answer_json(415, error_body, _NO_RETRY_HEADERS)
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
        )
        access = network_access_in(
            route.api_format, exchange.model, exchange.request, run_model=self.model
        )
        try:
            if request is None:
                await self._refuse_request(client, exchange, "the body is not a JSON object")
            elif access is not None:
                what, line = f"requested {access}; was refused", _request_line(client)
                self.by.ledger.add_finding("gateway-network-access", Severity.WARNING, line, what)
                why = f"agents have no network; {access}, is refused: turn it off in the agent"
                await self._refuse_request(client, exchange, why)
            elif not route.counts_only and self.by.ledger.is_budget_spent():
                await self._refuse_cost(client, exchange)
            else:
                await self._forward(client, exchange, written)
        finally:
            exchange.seconds = self.by.clock() - exchange.started
            self.finished(exchange)

    async def _forward(self, client: ClientRequest, exchange: ModelExchange, body: bytes) -> None:
        if exchange.model != self.model:
            model_name = text(exchange.model, _MAX_QUOTED)
            what = f"requested the model {model_name!r}; the run uses {self.model!r}"
            self.by.ledger.add_finding("gateway-other-model", Severity.WARNING, model_name, what)
        if not exchange.route.counts_only:
            self.by.ledger.count_request()
            if self.on_request is not None:
                await asyncio.to_thread(self.on_request, exchange.time)
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
        exchange.note = f"the attempt's budget of {self.by.ledger.budget_usd:g} USD is spent"
        message = f"You exceeded your current quota: agentbench gateway: {exchange.note}"
        exchange.status = status
        body = exchange.format.error_body(ModelErrorKind.QUOTA, status, message)
        exchange.log_answer(await client.answer_json(status, body, _NO_RETRY_HEADERS))


def _request_line(client: ClientRequest) -> str:
    return f"{text(client.method, 20)} {text(client.path, _MAX_QUOTED)}"
