"""What goes to a provider, on each wire."""

import asyncio
import json

import pytest

from agentbench.models.formats.registry import ApiRoute, route_of
from agentbench.models.gateway.upstream import (
    AnswerLimits,
    LiveUpstream,
    ProviderRequest,
    UpstreamError,
    provider_http_client,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind
from tests.fakes.scripted_model import Cut, Endless, Hang, Reset, Say, ScriptedModel, for_ever
from tests.models.gateway.at_the_door import QUICK, endpoints_of, request_of

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
def test_the_key_goes_where_the_wire_has_it(wire: ApiFormat, stream: bool) -> None:
    with ScriptedModel([Say("hi")]) as server:
        assert asked(server, call_of(wire, stream=stream))[0] == 200
        (seen,) = server.asked
    names = {"authorization", "x-api-key", "x-goog-api-key"}
    assert [name for name in names if server.key in seen.headers.get(name, "")] == [
        {
            ApiFormat.ANTHROPIC_MESSAGES: "x-api-key",
            ApiFormat.GEMINI_GENERATE: "x-goog-api-key",
        }.get(wire, "authorization")
    ]
    assert seen.stream is stream


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


def test_a_query_is_passed_on_but_for_the_key() -> None:
    with ScriptedModel([Say("hi")]) as server:
        asked(server, call_of(ApiFormat.OPENAI_CHAT, query="beta=true&key=secret&empty="))
    assert server.asked[0].query == "beta=true&empty="


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Hang(), ModelErrorKind.TIMEOUT),
        (Hang(after_chunks=1), ModelErrorKind.TIMEOUT),
        (Reset(), ModelErrorKind.CONNECTION),
        (Reset(after_chunks=1), ModelErrorKind.CUT_STREAM),
        (Cut(after_chunks=1), ModelErrorKind.CUT_STREAM),
    ],
)
def test_each_way_not_to_answer_has_its_name(answer, kind: ModelErrorKind) -> None:
    with (
        ScriptedModel([answer]) as server,
        pytest.raises(UpstreamError) as fault,
    ):
        asked(
            server,
            call_of(ApiFormat.OPENAI_CHAT, stream=True),
            bounds=QUICK if isinstance(answer, Hang) else PATIENT,
        )
    assert (fault.value.failure.kind, fault.value.failure.status) == (kind, None)


def test_what_is_left_of_an_answer_is_dropped() -> None:
    async def look(server: ScriptedModel) -> bytes:
        async with provider_http_client(AnswerLimits()) as client:
            upstream = LiveUpstream(endpoints_of(server.base_url, server.key), client)
            async with upstream.send(call_of(ApiFormat.OPENAI_CHAT, stream=True)) as answer:
                assert answer.is_stream
                return await anext(answer.chunks)

    with ScriptedModel(for_ever(Endless())) as server:
        assert asyncio.run(look(server))


def test_a_call_shows_no_key() -> None:
    route = ApiRoute(api_format=ApiFormat.OPENAI_CHAT)
    assert "secret" not in repr(endpoints_of("http://x", "secret"))
    assert "secret" not in repr(ProviderRequest(route=route, model="m", request={}, body=b""))
