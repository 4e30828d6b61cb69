"""Whatever a provider does, the client is told, the attempt's facts say it, and nothing hangs."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.exchange_log import ModelExchange
from agentbench.models.gateway.forwarding import EventSplitter, StreamReader
from agentbench.models.gateway.upstream import AnswerLimits
from agentbench.models.interface import ApiFormat, ModelEndpoint, ModelErrorKind, ModelTraffic
from tests.fakes.scripted_model import (
    Cut,
    Endless,
    Fail,
    Hang,
    Huge,
    Raw,
    Reset,
    Say,
    ScriptedModel,
    Tokens,
    for_ever,
)
from tests.models.gateway.endpoint_clients import (
    QUICK,
    SMALL,
    USER,
    anthropic_ai,
    ask,
    endpoint_to,
    lines_of,
    open_ai,
    plain_client,
    request_of,
    served,
)
from tests.patience import wait_until, with_growing_limit

EVENTS = [b"data: 1\n\n", b"event: x\r\ndata: 2\r\n\r\n", b": comment\r\r", b"data: a\ndata: b\n\n"]


@given(st.lists(st.sampled_from(EVENTS)), st.lists(st.integers(1, 9), min_size=1))
def test_events_are_joined_from_any_chunks(events: list[bytes], sizes: list[int]) -> None:
    data, splitter, found, at = b"".join(events), EventSplitter(), [], 0
    for size in sizes * (len(data) + 1):
        found += splitter.feed(data[at : at + size])
        at += size
    assert b"".join(found) + splitter.rest() == data
    assert found == events or b"\r\r" in data or b"\r\n" in data


def test_endless_event_is_forwarded_in_parts() -> None:
    splitter, passed = EventSplitter(), 0
    for _ in range(100):
        passed += sum(map(len, splitter.feed(b"x" * 65536)))
    assert passed + len(splitter.rest()) == 100 * 65536
    assert passed > 5_000_000


def watch(wire: ApiFormat, *, amended: bool = False) -> StreamReader:
    time = datetime.now(UTC)
    exchange = ModelExchange(
        time=time, started=0, route=ApiRoute(api_format=wire), path="/", model="m", request={}
    )
    return StreamReader(exchange, amended=amended)


def test_events_that_are_not_json_are_forwarded() -> None:
    observed = watch(ApiFormat.OPENAI_CHAT)
    for event in (b": ping\n\n", b"data: {torn\n\n", b"data: []\n\n", b"data:\n\n", b"\xff\n\n"):
        assert observed.passes(event)
    assert (observed.ended, observed.tokens, observed.failure, observed.refused) == (
        False,
        None,
        None,
        False,
    )


def test_data_over_several_lines_is_one_event() -> None:
    observed = watch(ApiFormat.ANTHROPIC_MESSAGES)
    observed.passes(b'event: message_stop\ndata: {"type":\ndata: "message_stop"}\n\n')
    assert observed.ended


@pytest.mark.parametrize("amended", [True, False])
def test_only_usage_requested_by_gateway_is_withheld(amended: bool) -> None:
    observed = watch(ApiFormat.OPENAI_CHAT, amended=amended)
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}\n\n'
    assert observed.passes(usage) is not amended
    assert observed.tokens.input == 3
    assert observed.passes(b"data: [DONE]\n\n")
    assert observed.ended


def test_first_error_counts() -> None:
    observed = watch(ApiFormat.ANTHROPIC_MESSAGES)
    for kind in ("overloaded_error", "api_error"):
        observed.passes(
            b'data: {"type": "error", "error": {"type": "%s", "message": "m"}}\n\n' % kind.encode()
        )
    assert (observed.failure.kind, observed.failure.status) == (ModelErrorKind.OVERLOADED, 200)


KINDS = [
    (429, ModelErrorKind.RATE_LIMIT),
    (401, ModelErrorKind.AUTH),
    (404, ModelErrorKind.UNKNOWN_MODEL),
    (400, ModelErrorKind.CONTEXT_LENGTH),
    (400, ModelErrorKind.MALFORMED),
    (500, ModelErrorKind.SERVER_ERROR),
    (529, ModelErrorKind.OVERLOADED),
    (429, ModelErrorKind.QUOTA),
    (402, ModelErrorKind.QUOTA),
]
WIRES = list(ApiFormat)
STREAMED = [False, True]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", STREAMED)
@pytest.mark.parametrize(("status", "kind"), KINDS)
def test_error_is_forwarded_and_classified(
    tmp_path: Path, wire: ApiFormat, stream: bool, status: int, kind: ModelErrorKind
) -> None:
    with served([Fail(status, kind, retry_after=7)], tmp_path / "log") as (
        _model,
        endpoint,
        client,
    ):
        answer = ask(client, wire, stream=stream)
        facts = endpoint.traffic()

    assert (answer.status_code, answer.headers["retry-after"]) == (status, "7")
    final = {ModelErrorKind.AUTH, ModelErrorKind.UNKNOWN_MODEL, ModelErrorKind.QUOTA}
    assert answer.headers.get("x-should-retry") == ("false" if kind in final else None)
    assert facts.errors == {kind: 1}
    assert (facts.last_failure.kind, facts.last_failure.status) == (kind, status)
    assert facts.last_failure.message in answer.text
    assert (facts.usage.requests, facts.usage.input_tokens) == (1, 0)
    assert lines_of(tmp_path / "log")[0]["error"] == kind


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", STREAMED)
@pytest.mark.parametrize("ending", [Cut(), Reset(after_chunks=2)])
def test_cut_answer_is_cut_for_the_client(
    tmp_path: Path, wire: ApiFormat, stream: bool, ending: Cut | Reset
) -> None:
    status, facts = broken_off(tmp_path / "log", ending, wire, stream=stream, bounds=AnswerLimits())
    assert status == (None if stream else 502)
    assert facts.errors == {ModelErrorKind.CUT_STREAM: 1}
    assert facts.last_failure.kind is ModelErrorKind.CUT_STREAM


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", STREAMED)
def test_stalled_answer_is_cut_for_the_client(
    tmp_path: Path, wire: ApiFormat, stream: bool
) -> None:
    def hanging(idle_s: float) -> tuple[int | None, ModelTraffic]:
        bounds = AnswerLimits(idle_s=idle_s)
        log = tmp_path / f"{idle_s}"
        return broken_off(log, Hang(after_chunks=2), wire, stream=stream, bounds=bounds)

    # A stream that has not begun when its time is over is an answer with a status.
    status, facts = with_growing_limit(
        hanging, lambda ended: not stream or ended[0] is None, limits=(QUICK.idle_s, 5, 60)
    )
    assert status == (None if stream else 504)
    assert facts.errors == {ModelErrorKind.TIMEOUT: 1}
    assert facts.last_failure.kind is ModelErrorKind.TIMEOUT


def broken_off(
    log: Path, ending: Cut | Reset | Hang, wire: ApiFormat, *, stream: bool, bounds: AnswerLimits
) -> tuple[int | None, ModelTraffic]:
    """The status of an answer, or none if it broke off after its head."""
    with served([ending], log, bounds=bounds) as (_model, endpoint, client):
        status = None
        with suppress(httpx2.RemoteProtocolError):
            status = ask(client, wire, stream=stream).status_code
        return status, endpoint.traffic()


@pytest.mark.parametrize("stream", STREAMED)
@pytest.mark.parametrize(
    ("silence", "kind"), [(Hang(), ModelErrorKind.TIMEOUT), (Reset(), ModelErrorKind.CONNECTION)]
)
def test_missing_answer_is_an_error_of_the_format(
    tmp_path: Path, stream: bool, silence: Hang | Reset, kind: ModelErrorKind
) -> None:
    bounds = QUICK if isinstance(silence, Hang) else AnswerLimits()
    with (
        ScriptedModel(for_ever(silence)) as model,
        endpoint_to(model, tmp_path / "log", bounds=bounds) as endpoint,
        open_ai(endpoint) as one,
        anthropic_ai(endpoint) as two,
    ):
        with pytest.raises(openai.InternalServerError, match="agentbench gateway"):
            one.chat.completions.create(model="gpt-5", messages=[USER], stream=stream)
        with pytest.raises(anthropic.InternalServerError, match="agentbench gateway"):
            two.messages.create(model="gpt-5", messages=[USER], max_tokens=9, stream=stream)
        assert endpoint.traffic().errors == {kind: 2}


def test_unreachable_provider_is_an_error(tmp_path: Path) -> None:
    with ScriptedModel([]) as model, endpoint_to(model, tmp_path / "log") as endpoint:
        model.__exit__()
        with plain_client(endpoint) as client:
            answer = ask(client, ApiFormat.GEMINI_GENERATE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, 502)
        assert endpoint.traffic().last_failure.kind is ModelErrorKind.CONNECTION


@pytest.mark.parametrize("stream", STREAMED)
def test_endless_answer_is_cut(tmp_path: Path, stream: bool) -> None:
    with served(for_ever(Endless()), tmp_path / "log", bounds=SMALL) as (_model, endpoint, client):
        if stream:
            with pytest.raises(httpx2.RemoteProtocolError):
                ask(client, ApiFormat.ANTHROPIC_MESSAGES, stream=True)
        else:
            assert ask(client, ApiFormat.ANTHROPIC_MESSAGES).status_code == 502
        facts = endpoint.traffic()
    assert facts.last_failure.kind is ModelErrorKind.CUT_STREAM
    assert "longer than 1 MiB" in facts.last_failure.message


@pytest.mark.parametrize("wire", WIRES)
def test_error_within_stream_is_recorded(tmp_path: Path, wire: ApiFormat) -> None:
    with served([Fail(529, after_chunks=2)], tmp_path / "log") as (_model, endpoint, client):
        answer = ask(client, wire, stream=True)
        facts = endpoint.traffic()
    assert answer.status_code == 200
    assert sum(facts.errors.values()) == 1
    assert facts.last_failure.kind in {ModelErrorKind.OVERLOADED, ModelErrorKind.SERVER_ERROR}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", STREAMED)
def test_a_refusal_is_counted_with_its_tokens(
    tmp_path: Path, wire: ApiFormat, stream: bool
) -> None:
    with served([Say("I will not do that", Tokens(30, 4), refused=True)], tmp_path / "log") as (
        _model,
        endpoint,
        client,
    ):
        assert ask(client, wire, stream=stream).status_code == 200
        facts = endpoint.traffic()
    assert facts.errors == {ModelErrorKind.REFUSAL: 1}
    assert facts.last_failure.kind is ModelErrorKind.REFUSAL
    assert (facts.usage.input_tokens, facts.usage.output_tokens) == (30, 4)


def test_answer_clears_last_failure(tmp_path: Path) -> None:
    script = [Fail(429, retry_after=0), Fail(529, retry_after=0), Say("here I am"), Fail(500)]
    with (
        ScriptedModel(script) as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        anthropic_ai(endpoint, max_retries=2) as client,
    ):
        client.messages.create(model="gpt-5", messages=[USER], max_tokens=9)
        answered = endpoint.traffic()
        with pytest.raises(anthropic.InternalServerError):
            client.with_options(max_retries=0).messages.create(
                model="gpt-5", messages=[USER], max_tokens=9
            )
        failed = endpoint.traffic()
    assert answered.last_failure is None
    assert answered.errors == {ModelErrorKind.RATE_LIMIT: 1, ModelErrorKind.OVERLOADED: 1}
    assert failed.last_failure.kind is ModelErrorKind.SERVER_ERROR
    assert failed.usage.requests == 4


@pytest.mark.parametrize("wire", WIRES)
def test_stream_is_forwarded_at_once(tmp_path: Path, wire: ApiFormat) -> None:
    go = threading.Event()
    path, body = request_of(wire, stream=True)
    with (
        ScriptedModel([Say("one two three four five six seven", hold=go)]) as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        plain_client(endpoint) as client,
        client.stream("POST", path, json=body) as answer,
    ):
        chunks = answer.iter_raw()
        assert next(chunks)  # and the provider has not gone on
        go.set()
        assert b"".join(chunks)


def test_usage_is_withheld_unless_requested(tmp_path: Path) -> None:
    with served(for_ever(Say("hello you", Tokens(30, 4))), tmp_path / "log") as (
        model,
        endpoint,
        client,
    ):
        path, body = request_of(ApiFormat.OPENAI_CHAT, stream=True)
        plain = client.post(path, json=body).text
        asked = client.post(path, json={**body, "stream_options": {"include_usage": True}}).text
        assert endpoint.traffic().usage.input_tokens == 60
    assert '"prompt_tokens"' not in plain
    assert asked.count('"prompt_tokens"') == 1
    assert [each.body["stream_options"] for each in model.asked] == [{"include_usage": True}] * 2


def test_request_is_repeated_without_refused_usage_option(tmp_path: Path) -> None:
    def strict(asked):
        if "stream_options" in asked.body:
            return Raw(b'{"detail": "stream_options: extra fields not permitted"}', 422)
        return Say("hello you")

    with served(strict, tmp_path / "log") as (_model, endpoint, client):
        answer = ask(client, ApiFormat.OPENAI_CHAT, stream=True)
        facts = endpoint.traffic()
    assert (answer.status_code, facts.errors) == (200, {})
    assert (facts.usage.requests, facts.usage.input_tokens) == (1, 0)
    assert [finding.rule for finding in facts.findings] == ["gateway-no-usage"]


def test_disconnect_of_client_is_no_model_failure(tmp_path: Path) -> None:
    go = threading.Event()
    path, body = request_of(ApiFormat.ANTHROPIC_MESSAGES, stream=True)
    with served(
        [Say("one two three four", Tokens(70, 9), hold=go), Say("ok")], tmp_path / "log"
    ) as (_model, endpoint, client):
        with client.stream("POST", path, json=body) as answer:
            next(answer.iter_raw())
        wait_until((tmp_path / "log").read_text)  # it is seen to have left
        go.set()
        ask(client, ApiFormat.ANTHROPIC_MESSAGES)
        facts = endpoint.traffic()
    assert (facts.errors, facts.last_failure) == ({}, None)
    assert facts.usage.input_tokens == 70 + 100  # of the first one as far as it was seen
    assert [line.get("abandoned", False) for line in lines_of(tmp_path / "log")] == [True, False]


@pytest.mark.parametrize(("patience_s", "errors"), [(3600, {}), (0, {ModelErrorKind.TIMEOUT: 1})])
def test_disconnect_after_long_wait_is_a_timeout(
    tmp_path: Path, patience_s: float, errors: dict[ModelErrorKind, int]
) -> None:
    bounds = AnswerLimits(patience_s=patience_s)
    with (
        ScriptedModel([Hang()]) as model,
        endpoint_to(model, tmp_path / "log", bounds=bounds) as endpoint,
    ):
        with asking(endpoint, ApiFormat.OPENAI_CHAT):
            wait_until(lambda: model.asked)
        wait_until((tmp_path / "log").read_text)  # it is seen to have left
        assert endpoint.traffic().errors == errors


@contextmanager
def asking(endpoint: ModelEndpoint, wire: ApiFormat) -> Iterator[None]:
    """A client that asks and leaves at the end of the block."""
    path, body = request_of(wire)
    data = json.dumps(body).encode()
    head = f"host: door\r\nauthorization: Bearer {endpoint.token}\r\ncontent-length: {len(data)}"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(endpoint.socket))
        connection.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n\r\n".encode() + data)
        yield


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"error": {"message": "no"}}'])
def test_status_200_without_json_is_an_error(tmp_path: Path, body: bytes) -> None:
    with served([Raw(body)], tmp_path / "log") as (_model, endpoint, client):
        assert ask(client, ApiFormat.OPENAI_CHAT).content == body
        assert endpoint.traffic().last_failure.kind is ModelErrorKind.SERVER_ERROR


def test_gzip_answer_is_forwarded_unpacked(tmp_path: Path) -> None:
    packed = ScriptedModel([Say("good day", Tokens(30, 4))], zipped=True)
    with (
        packed as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        open_ai(endpoint) as client,
    ):
        result = client.chat.completions.create(model="gpt-5", messages=[USER])
        assert result.choices[0].message.content == "good day"
        assert endpoint.traffic().usage.input_tokens == 30
    assert model.asked[0].headers["accept-encoding"] == "identity"


def test_a_large_answer_passes_whole(tmp_path: Path) -> None:
    with served(for_ever(Huge(20_000_000)), tmp_path / "log") as (_model, _endpoint, client):
        result = ask(client, ApiFormat.ANTHROPIC_MESSAGES).json()["content"][0]["text"]
    assert len(result) == 20_000_000
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert len(line) < 6_000_000
    assert json.loads(line)["answer_left_out"] > 15_000_000


def test_connection_and_account_headers_are_not_forwarded(tmp_path: Path) -> None:
    answered = Raw(
        b'{"choices": []}',
        headers={"x-kept": "1", "set-cookie": "a=b", "openai-organization": "us"},
    )
    sent = {"x-mine": "1", "cookie": "c", "connection": "x-hop", "x-hop": "1", "x-api-key": "no"}
    with served([answered], tmp_path / "log") as (model, _endpoint, client):
        path, body = request_of(ApiFormat.OPENAI_CHAT)
        answer = client.post(f"{path}?beta=true&key=no", json=body, headers=sent)
    (asked,) = model.asked
    assert asked.query == "beta=true"
    assert asked.headers["x-mine"] == "1"
    assert asked.headers["authorization"] == f"Bearer {model.key}"
    assert not {"cookie", "x-hop", "x-api-key"} & set(asked.headers)
    assert answer.headers["x-kept"] == "1"
    assert not {"set-cookie", "openai-organization"} & set(answer.headers)


WHOLE = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "local",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    {
                        "id": f"t{number}",
                        "type": "function",
                        "function": {"name": name, "arguments": "{}"},
                    }
                    for number, name in enumerate(("read_file", "list_files"))
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20},
}


def test_whole_answer_is_streamed_to_a_client_that_streams(tmp_path: Path) -> None:
    whole = Raw(json.dumps(WHOLE).encode(), headers={"content-type": "application/json"})
    with (
        ScriptedModel(for_ever(whole)) as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        open_ai(endpoint) as client,
    ):
        request = {"model": endpoint.model, "messages": [USER]}
        with client.chat.completions.create(**request, stream=True) as stream:
            chunks = [chunk for chunk in stream if chunk.choices]
        plain = client.chat.completions.create(**request)
        facts = endpoint.traffic()
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "Let me look."
    names = [call.function.name for delta in deltas for call in delta.tool_calls or ()]
    assert names == ["read_file", "list_files"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert plain.choices[0].message.content == "Let me look."
    assert facts.errors == {}
    assert (facts.usage.input_tokens, facts.usage.output_tokens) == (200, 40)
