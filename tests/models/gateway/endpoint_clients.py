"""A gateway to a scripted model, and the clients of its endpoints."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from agentbench.models.gateway.gateway import Gateway, run_gateway
from agentbench.models.gateway.providers import ProviderAccess, ProviderUrl
from agentbench.models.gateway.upstream import AnswerLimits
from agentbench.models.interface import ApiFormat, ModelEndpoint
from agentbench.models.model_catalogue import known_prices
from tests.fakes.scripted_model import ScriptedModel
from tests.patience import HANG_SECONDS

if TYPE_CHECKING:  # together they take two seconds to import
    import anthropic
    import openai

MODEL = "gpt-5"
SMALL = AnswerLimits(answer_bytes=1 << 20, request_bytes=1 << 20)
QUICK = AnswerLimits(idle_s=0.5)
"""For a provider that hangs: any other answer may need longer on a busy machine."""
PATHS = {
    ApiFormat.OPENAI_CHAT: "/v1/chat/completions",
    ApiFormat.OPENAI_RESPONSES: "/v1/responses",
    ApiFormat.ANTHROPIC_MESSAGES: "/v1/messages",
    ApiFormat.GEMINI_GENERATE: "/v1beta/models",
}
KEY_HEADERS = {
    ApiFormat.ANTHROPIC_MESSAGES: ("x-api-key",),
    ApiFormat.GEMINI_GENERATE: ("x-goog-api-key",),
}
USER = {"role": "user", "content": "hello"}


def endpoints_of(base_url: str, key: str | None) -> ProviderAccess:
    """All API formats at one server."""
    ends = {
        wire: ProviderUrl(
            url=base_url + path, key=key, key_headers=KEY_HEADERS.get(wire, ("authorization",))
        )
        for wire, path in PATHS.items()
    }
    return ProviderAccess(by_format=ends, main=ApiFormat.OPENAI_CHAT)


@contextmanager
def gateway_to(server: ScriptedModel, *, model: str = MODEL, **options) -> Iterator[Gateway]:
    """A gateway to a scripted model."""
    options = {"prices": known_prices(), **options}
    access = options.pop("access", None) or endpoints_of(server.base_url, server.key)
    with run_gateway(access, model=model, **options) as gateway:
        yield gateway


@contextmanager
def endpoint_to(server: ScriptedModel, log: Path, *, budget_usd: float = 9, **options):
    """One endpoint of such a gateway."""
    with (
        gateway_to(server, **options) as gateway,
        gateway.open_endpoint(budget_usd=budget_usd, log=log) as endpoint,
    ):
        yield endpoint


def through(endpoint: ModelEndpoint) -> httpx2.HTTPTransport:
    """The transport of a client on this machine."""
    return httpx2.HTTPTransport(uds=str(endpoint.socket))


@contextmanager
def plain_client(endpoint: ModelEndpoint, **options) -> Iterator[httpx2.Client]:
    """A client that can send anything."""
    options = {
        "headers": {"authorization": f"Bearer {endpoint.token}"},
        "timeout": HANG_SECONDS,
        **options,
    }
    with httpx2.Client(transport=through(endpoint), base_url="http://door", **options) as client:
        yield client


@contextmanager
def served(
    script, log: Path, **options
) -> Iterator[tuple[ScriptedModel, ModelEndpoint, httpx2.Client]]:
    """A scripted model, an endpoint that leads to it, and a client of this endpoint."""
    with (
        ScriptedModel(script) as model,
        endpoint_to(model, log, **options) as endpoint,
        plain_client(endpoint) as client,
    ):
        yield model, endpoint, client


@contextmanager
def open_ai(endpoint: ModelEndpoint, **options) -> "Iterator[openai.OpenAI]":
    """OpenAI's own client."""
    import openai

    options = {"api_key": endpoint.token, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    with httpx2.Client(transport=through(endpoint)) as http:
        yield openai.OpenAI(base_url="http://door/v1", http_client=http, **options)


@contextmanager
def anthropic_ai(endpoint: ModelEndpoint, **options) -> "Iterator[anthropic.Anthropic]":
    """Anthropic's own client."""
    import anthropic

    options = {"api_key": endpoint.token, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    with httpx2.Client(transport=through(endpoint)) as http:
        yield anthropic.Anthropic(base_url="http://door", http_client=http, **options)


def request_of(
    wire: ApiFormat, *, model: str = MODEL, stream: bool = False, text: str = "hello"
) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request."""
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "stream": stream}
    match wire:
        case ApiFormat.OPENAI_CHAT:
            return PATHS[wire], {**body, "messages": messages}
        case ApiFormat.OPENAI_RESPONSES:
            return PATHS[wire], {**body, "input": messages}
        case ApiFormat.ANTHROPIC_MESSAGES:
            return PATHS[wire], {**body, "messages": messages, "max_tokens": 9}
        case ApiFormat.GEMINI_GENERATE:
            action = "streamGenerateContent?alt=sse" if stream else "generateContent"
            contents = [{"role": "user", "parts": [{"text": text}]}]
            return f"{PATHS[wire]}/{model}:{action}", {"contents": contents}


def ask(client: httpx2.Client, wire: ApiFormat, **options) -> httpx2.Response:
    """Send a request in a format, and read the answer to its end."""
    path, body = request_of(wire, **options)
    return client.post(path, json=body)


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The lines of a log, as they are."""
    return [json.loads(line) for line in log.read_text().splitlines()]
