"""A gateway before a scripted model, and the clients that come to its doors."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from agentbench.agents.gateway.endpoints import Endpoint, Endpoints
from agentbench.agents.gateway.gateway import Gateway
from agentbench.agents.gateway.prices import known_prices
from agentbench.agents.gateway.running import running
from agentbench.agents.gateway.upstream import Bounds
from agentbench.agents.model_door import ModelDoor, Wire
from tests.fakes.scripted_model import ScriptedModel
from tests.patience import HANG_SECONDS

if TYPE_CHECKING:  # together they take two seconds to import
    import anthropic
    import openai

MODEL = "gpt-5"
SMALL = Bounds(answer_bytes=1 << 20, request_bytes=1 << 20)
QUICK = Bounds(idle_s=0.5)
"""For a provider that hangs: any other answer may need longer on a busy machine."""
PATHS = {
    Wire.OPENAI_CHAT: "/v1/chat/completions",
    Wire.OPENAI_RESPONSES: "/v1/responses",
    Wire.ANTHROPIC_MESSAGES: "/v1/messages",
    Wire.GEMINI_GENERATE: "/v1beta/models",
}
KEY_HEADERS = {
    Wire.ANTHROPIC_MESSAGES: ("x-api-key",),
    Wire.GEMINI_GENERATE: ("x-goog-api-key",),
}
USER = {"role": "user", "content": "hello"}


def endpoints_of(base_url: str, key: str | None) -> Endpoints:
    """All wires at one server."""
    ends = {
        wire: Endpoint(
            url=base_url + path, key=key, key_headers=KEY_HEADERS.get(wire, ("authorization",))
        )
        for wire, path in PATHS.items()
    }
    return Endpoints(by_wire=ends, main=Wire.OPENAI_CHAT)


@contextmanager
def gateway_to(server: ScriptedModel, *, model: str = MODEL, **options) -> Iterator[Gateway]:
    """A gateway to a scripted model."""
    options = {"prices": known_prices(), **options}
    with running(endpoints_of(server.base_url, server.key), model=model, **options) as gateway:
        yield gateway


@contextmanager
def door_to(server: ScriptedModel, log: Path, *, budget_usd: float = 9, **options):
    """One door of such a gateway."""
    with (
        gateway_to(server, **options) as gateway,
        gateway.admit(budget_usd=budget_usd, log=log) as door,
    ):
        yield door


def through(door: ModelDoor) -> httpx2.HTTPTransport:
    """The way of a client on this machine to a door."""
    return httpx2.HTTPTransport(uds=str(door.socket))


@contextmanager
def plain_client(door: ModelDoor, **options) -> Iterator[httpx2.Client]:
    """A client that can send anything."""
    options = {
        "headers": {"authorization": f"Bearer {door.token}"},
        "timeout": HANG_SECONDS,
        **options,
    }
    with httpx2.Client(transport=through(door), base_url="http://door", **options) as client:
        yield client


@contextmanager
def open_ai(door: ModelDoor, **options) -> "Iterator[openai.OpenAI]":
    """OpenAI's own client."""
    import openai

    options = {"api_key": door.token, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    with httpx2.Client(transport=through(door)) as http:
        yield openai.OpenAI(base_url="http://door/v1", http_client=http, **options)


@contextmanager
def anthropic_ai(door: ModelDoor, **options) -> "Iterator[anthropic.Anthropic]":
    """Anthropic's own client."""
    import anthropic

    options = {"api_key": door.token, "max_retries": 0, "timeout": HANG_SECONDS, **options}
    with httpx2.Client(transport=through(door)) as http:
        yield anthropic.Anthropic(base_url="http://door", http_client=http, **options)


def request_of(
    wire: Wire, *, model: str = MODEL, stream: bool = False, text: str = "hello"
) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request."""
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "stream": stream}
    match wire:
        case Wire.OPENAI_CHAT:
            return PATHS[wire], {**body, "messages": messages}
        case Wire.OPENAI_RESPONSES:
            return PATHS[wire], {**body, "input": messages}
        case Wire.ANTHROPIC_MESSAGES:
            return PATHS[wire], {**body, "messages": messages, "max_tokens": 9}
        case Wire.GEMINI_GENERATE:
            action = "streamGenerateContent?alt=sse" if stream else "generateContent"
            contents = [{"role": "user", "parts": [{"text": text}]}]
            return f"{PATHS[wire]}/{model}:{action}", {"contents": contents}


def ask(client: httpx2.Client, wire: Wire, **options) -> httpx2.Response:
    """Ask by a wire, and read the answer to its end."""
    path, body = request_of(wire, **options)
    return client.post(path, json=body)


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The lines of a log, as they are."""
    return [json.loads(line) for line in log.read_text().splitlines()]
