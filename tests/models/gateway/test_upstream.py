import asyncio
import json
import re
from collections.abc import Callable

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.models.formats.registry import ApiRoute, route_of
from agentbench.models.gateway.gateway import run_gateway
from agentbench.models.gateway.providers import resolve_model
from agentbench.models.gateway.upstream import (
    LOADING_SECONDS,
    PROBE_SECONDS,
    AnswerLimits,
    LiveUpstream,
    ProviderRequest,
    probe_seconds,
    provider_http_client,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind
from agentbench.models.model_catalogue import known_prices
from tests.fakes.scripted_model import (
    Endless,
    Fail,
    Hang,
    Raw,
    Reset,
    Say,
    ScriptedModel,
    for_ever,
)
from tests.models.gateway.endpoint_clients import endpoints_of, request_of
from tests.patience import HANG_SECONDS

PATIENT = AnswerLimits()


def asked(
    server: ScriptedModel, call: ProviderRequest, bounds: AnswerLimits = PATIENT
) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with provider_http_client(bounds) as client:
            upstream = LiveUpstream(endpoints_of(server.base_url, server.key), client)
            assert set(upstream.api_formats) == set(ApiFormat)
            async with upstream.send(call) as answer:
                return answer.status, b"".join([chunk async for chunk in answer.chunks])

    return asyncio.run(ask())


def call_of(wire: ApiFormat, *, stream: bool = False, **more) -> ProviderRequest:
    path, body = request_of(wire, stream=stream)
    path, _, query = path.partition("?")
    fields = {"query": query, "body": json.dumps(body).encode(), **more}
    return ProviderRequest(route=route_of(path), model="gpt-5", request=body, **fields)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_key_is_sent_in_header_of_the_format(wire: ApiFormat, stream: bool) -> None:
    with ScriptedModel([Say("hi")]) as server:
        assert asked(server, call_of(wire, stream=stream))[0] == 200
        (observed,) = server.asked
    names = {"authorization", "x-api-key", "x-goog-api-key"}
    assert [name for name in names if server.key in observed.headers.get(name, "")] == [
        {
            ApiFormat.ANTHROPIC_MESSAGES: "x-api-key",
            ApiFormat.GEMINI_GENERATE: "x-goog-api-key",
        }.get(wire, "authorization")
    ]
    assert observed.stream is stream


def test_counting_goes_to_its_own_path() -> None:
    with ScriptedModel([]) as server:
        one = route_of("/v1/messages/count_tokens")
        two = route_of("/v1beta/models/m:countTokens")
        for route in (one, two):
            assert (
                asked(server, ProviderRequest(route=route, model="m", request={}, body=b"{}"))[0]
                == 200
            )
    assert [each.path for each in server.requests] == [
        "/v1/messages/count_tokens",
        "/v1beta/models/m:countTokens",
    ]


def test_rest_of_answer_is_dropped() -> None:
    async def look(server: ScriptedModel) -> bytes:
        async with provider_http_client(AnswerLimits()) as client:
            upstream = LiveUpstream(endpoints_of(server.base_url, server.key), client)
            async with upstream.send(call_of(ApiFormat.OPENAI_CHAT, stream=True)) as answer:
                assert answer.is_stream
                return await anext(answer.chunks)

    with ScriptedModel(for_ever(Endless())) as server:
        assert asyncio.run(look(server))


def test_request_shows_no_key() -> None:
    route = ApiRoute(api_format=ApiFormat.OPENAI_CHAT)
    assert "secret" not in repr(endpoints_of("http://x", "secret"))
    assert "secret" not in repr(ProviderRequest(route=route, model="m", request={}, body=b""))


PROVIDERS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}


def probe(
    server: ScriptedModel,
    provider: str = "openai",
    *,
    seconds: float = HANG_SECONDS,
    say: Callable[[str], None] = lambda _line: None,
    **environ: str,
) -> None:
    environ = {PROVIDERS[provider]: server.key, **environ}
    found = resolve_model(f"{provider}/m", environ=environ, base_url=server.base_url)
    with run_gateway(found.endpoints, model=found.model, prices=known_prices()) as gateway:
        gateway.probe(seconds=seconds, say=say)


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_probe_accepts_answering_model(provider: str) -> None:
    with ScriptedModel(for_ever(Say("ok"))) as server:
        probe(server, provider)
    assert len(server.asked) == 1


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_probe_reports_invalid_key(provider: str) -> None:
    wrong = "sk-wrong-but-secret"
    with (
        ScriptedModel([], echo_key=True) as server,
        pytest.raises(UsageError, match=f"set {PROVIDERS[provider]}") as messages,
    ):
        probe(server, provider, **{PROVIDERS[provider]: wrong})
    assert wrong not in str(messages.value)


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_probe_reports_unknown_model(provider: str) -> None:
    with (
        ScriptedModel([], models=["another"]) as server,
        pytest.raises(UsageError, match="has no model 'm'"),
    ):
        probe(server, provider)


def test_probe_reports_empty_account() -> None:
    with (
        ScriptedModel(for_ever(Fail(429, ModelErrorKind.QUOTA))) as server,
        pytest.raises(UsageError, match="no credit left"),
    ):
        probe(server)


@pytest.mark.parametrize("answer", [Reset(), Fail(500)])
def test_probe_without_answer_is_unavailable_and_not_slow(answer: Reset | Fail) -> None:
    with (
        ScriptedModel(for_ever(answer)) as server,
        pytest.raises(UnavailableError, match="--no-probe") as caught,
    ):
        probe(server)
    assert "within" not in str(caught.value)
    assert len(server.asked) == 1


def test_probe_of_hanging_model_announces_its_wait_and_is_unavailable() -> None:
    messages: list[str] = []
    with (
        ScriptedModel(for_ever(Hang())) as server,
        pytest.raises(UnavailableError, match=r"in time|within 0\.5 s"),
    ):
        probe(server, seconds=0.5, say=messages.append)
    assert messages == [f"waiting up to 0.5 s for {server.base_url}/v1/chat/completions to load m"]


@pytest.mark.parametrize(
    ("model", "environ", "base_url", "seconds"),
    [
        ("openai/m", {"OPENAI_API_KEY": "x"}, None, PROBE_SECONDS),
        ("openai/m", {"OPENAI_API_KEY": "x"}, "http://localhost:1/v1", LOADING_SECONDS),
        ("openai/m", {"OPENAI_BASE_URL": "http://localhost:1/v1"}, None, LOADING_SECONDS),
        ("qwen3:30b", {}, "http://localhost:1", LOADING_SECONDS),
    ],
)
def test_server_of_ones_own_has_time_to_load_its_model(model, environ, base_url, seconds) -> None:
    found = resolve_model(model, environ=environ, base_url=base_url)
    assert probe_seconds(found.endpoints) == seconds


def test_probe_without_server_is_unavailable() -> None:
    server = ScriptedModel([])
    with server:
        pass
    with pytest.raises(UnavailableError, match="--base-url"):
        probe(server)


@pytest.mark.parametrize("answer", [Fail(429), Fail(529), Fail(400), Endless()])
def test_probe_accepts_busy_or_refusing_server(answer: Fail | Endless) -> None:
    with ScriptedModel(for_ever(answer)) as server:
        probe(server)


def test_probe_uses_only_supported_format() -> None:
    says = "This model is only supported in v1/responses and not in v1/chat/completions."

    def newer(asked):
        return Fail(404, message=says) if "chat" in asked.path else Say("ok")

    with ScriptedModel(newer) as server:
        probe(server)
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v1/responses"]


def test_probe_refuses_other_pages() -> None:
    with (
        ScriptedModel(for_ever(Raw(b"<h1>Not Found</h1>", 404))) as server,
        pytest.raises(UsageError, match="--base-url"),
    ):
        probe(server)


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (b"<html>Welcome</html>", "text/html", "expected JSON, found '<html>Welcome</html>'"),
        (b'{"choices": [{"mess', "application/json", "expected JSON, found"),
        (b"", "application/json", "expected JSON, found ''"),
        (b": nothing\n\n", "text/event-stream", "its stream has no event"),
    ],
)
def test_probe_reports_answer_of_another_kind(body: bytes, kind: str, says: str) -> None:
    answer = Raw(body, headers={"content-type": kind})
    with (
        ScriptedModel(for_ever(answer)) as server,
        pytest.raises(UnavailableError, match=re.escape(says)),
    ):
        probe(server)


def test_server_that_does_not_stream_is_a_model() -> None:
    body = b'{"choices": [{"message": {"content": "ok"}}]}'
    answer = Raw(body, headers={"content-type": "application/json"})
    with ScriptedModel(for_ever(answer)) as server:
        probe(server)
