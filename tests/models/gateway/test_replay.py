import asyncio
from datetime import UTC, datetime

import pytest

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.recording import (
    RecordedAnswer,
    Recording,
    RecordingHead,
    ReplayedUpstream,
    request_digest,
)
from agentbench.models.gateway.upstream import ProviderRequest, UpstreamError
from agentbench.models.interface import ApiFormat, ModelErrorKind


def call(
    text: str, lane: str = "t/1", wire: ApiFormat = ApiFormat.OPENAI_CHAT, **more
) -> ProviderRequest:
    request = {"messages": [{"role": "user", "content": text}], **more}
    return ProviderRequest(
        route=ApiRoute(api_format=wire), model="m", request=request, body=b"", lane=lane
    )


def recorded(asked: ProviderRequest, said: str, **more) -> RecordedAnswer:
    digest = request_digest(asked)
    fields = {"status": 200, "chunks": (said[:1], said[1:])}
    return RecordedAnswer(
        lane=asked.lane,
        words=digest.words,
        outline=digest.outline,
        wire=asked.route.api_format,
        **{**fields, **more},
    )


def replayed(*answers: RecordedAnswer) -> ReplayedUpstream:
    head = RecordingHead(model="m", wires=tuple(ApiFormat), started=datetime.now(UTC))
    return ReplayedUpstream(Recording(head=head, answers=answers))


def said_to(upstream: ReplayedUpstream, asked: ProviderRequest) -> str:
    async def ask() -> str:
        async with upstream.send(asked) as answer:
            return "|".join([chunk.decode() async for chunk in answer.chunks])

    return asyncio.run(ask())


def test_the_same_words_get_the_same_answer_whatever_the_order() -> None:
    asked = [call(text) for text in "abc"]
    upstream = replayed(*(recorded(each, f"-{n}") for n, each in enumerate(asked)))
    assert [said_to(upstream, asked[at]) for at in (2, 0, 1)] == ["-|2", "-|0", "-|1"]


def test_a_request_made_again_gets_the_next_answer() -> None:
    upstream = replayed(recorded(call("a"), "-1"), recorded(call("a"), "-2"))
    assert [said_to(upstream, call("a")) for _ in range(2)] == ["-|1", "-|2"]


def test_other_words_get_the_next_answer_of_their_outline_or_of_their_wire() -> None:
    title = recorded(call("title", tools=[]), "-title")
    turn = recorded(call("turn", tools=[1, 2]), "-turn")
    upstream = replayed(title, turn, recorded(call("x", wire=ApiFormat.OPENAI_RESPONSES), "-other"))
    assert said_to(upstream, call("changed", tools=[1, 2])) == "-|turn"
    assert said_to(upstream, call("changed", tools=[1, 2, 3])) == "-|title"
    assert said_to(upstream, call("y", wire=ApiFormat.OPENAI_RESPONSES)) == "-|other"


def test_an_attempt_gets_nothing_of_another() -> None:
    upstream = replayed(recorded(call("a", lane="t/1"), "-1"))
    for _ in range(2):
        with pytest.raises(UpstreamError, match="not in the recording") as fault:
            said_to(upstream, call("a", lane="t/2"))
        assert fault.value.failure.kind is ModelErrorKind.CONNECTION
    assert said_to(upstream, call("a")) == "-|1"
    with pytest.raises(UpstreamError):
        said_to(upstream, call("a"))


def test_what_failed_fails_again() -> None:
    cut = recorded(call("a"), "-1", failure=ModelErrorKind.CUT_STREAM, message="cut")
    never = recorded(call("b"), "", status=None, failure=ModelErrorKind.TIMEOUT, message="late")
    upstream = replayed(cut, never)
    with pytest.raises(UpstreamError, match="cut"):
        said_to(upstream, call("a"))
    with pytest.raises(UpstreamError, match="late"):
        said_to(upstream, call("b"))
    assert set(upstream.api_formats) == set(ApiFormat)
