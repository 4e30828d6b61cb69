"""The real key stays on this machine, and an endpoint is an endpoint of one attempt."""

import base64
import codecs
import gzip
import json
import re
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import httpx2
import pytest

from agentbench.errors import InputError, StorageError, UsageError
from agentbench.models.gateway.gateway import run_gateway
from agentbench.models.gateway.upstream import AnswerLimits
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelGateway
from agentbench.models.model_catalogue import known_prices
from tests.fakes.scripted_model import (
    Call,
    Cut,
    Endless,
    Fail,
    Hang,
    Raw,
    Reset,
    Say,
    ScriptedModel,
    Tokens,
    for_ever,
)
from tests.models.gateway.endpoint_clients import (
    USER,
    anthropic_ai,
    ask,
    endpoint_to,
    endpoints_of,
    gateway_to,
    lines_of,
    open_ai,
    plain_client,
    request_of,
    served,
)
from tests.models.gateway.test_forwarding import asking
from tests.patience import wait_until

CANARY = 'sk-canary-7f3a/+%&9b"c2d1e0'
SAFE = "sk-canary-7f3a9bc2d1e05566"  # as headers can bear it


def dressed(secret: str) -> dict[str, str]:
    """A secret as it may be dressed, each time within a longer text."""
    data = f"the key is {secret}!".encode()
    return {
        "plain": secret,
        "reversed": secret[::-1],
        "rot13": codecs.encode(secret, "rot13"),
        "url": quote(secret, safe=""),
        "url in small letters": re.sub("%..", lambda f: f.group().lower(), quote(secret, safe="")),
        "hex": data.hex(),
        "base64": base64.b64encode(data).decode(),
        "base64 further on": base64.b64encode(b"." + data).decode(),
        "base64 further still": base64.b64encode(b".." + data).decode(),
        "base64url": base64.urlsafe_b64encode(data).decode(),
        "base85": base64.b85encode(secret.encode()).decode(),
        "base32": base64.b32encode(secret.encode()).decode(),
        "gzip": base64.b64encode(gzip.compress(data)).decode(),
        "json": json.dumps(secret),
        "json of json": json.dumps(json.dumps(secret)),
        "json with slashes": json.dumps(secret).replace("/", "\\/"),
    }


def undressed(text: str, secret: str) -> set[str]:
    """The dresses in which the secret stands in a text."""
    inner = {name: form for name, form in dressed(secret).items() if not name.startswith("gzip")}
    found = {name for name, form in inner.items() if form in text}
    for packed in re.findall(r"H4sI[A-Za-z0-9+/=]+", text):
        if secret.encode() in gzip.decompress(base64.b64decode(packed)):
            found.add("gzip")
    return found


@pytest.mark.parametrize("stream", [False, True])
def test_key_is_masked_everywhere(tmp_path: Path, stream: bool) -> None:
    """In the answer, in its headers, in errors, in the log, in the recording, in the findings."""
    # A stream would cut them into pieces that nobody can know again.
    texts = ["good day"] if stream else dressed(SAFE).values()
    script = [*map(Say, texts), Fail(401), Fail(500), Fail(529, after_chunks=2)]
    observed = []
    with (
        ScriptedModel(script, key=SAFE, echo_key=True) as model,
        gateway_to(model, record=tmp_path / "recording") as gateway,
        gateway.open_endpoint(budget_usd=9, log=tmp_path / "log") as endpoint,
        plain_client(endpoint) as client,
    ):
        for _ in script:
            answer = ask(client, ApiFormat.ANTHROPIC_MESSAGES, stream=stream)
            reported = "".join(re.findall(r'"text": "((?:[^"\\]|\\.)*)"', answer.text))
            observed += [reported, answer.text, str(answer.headers)]
        facts = endpoint.traffic()
    texts = {
        "answers": "\n".join(observed),
        "facts": repr(facts),
        "log": (tmp_path / "log").read_text(),
        "recording": (tmp_path / "recording").read_text(),
        "access": repr(gateway._access),
    }
    assert {name for name, text in texts.items() if undressed(text, SAFE)} == set()
    assert model.asked[0].headers["x-api-key"] == SAFE


def test_token_is_masked_in_any_encoding(tmp_path: Path) -> None:
    with served(for_ever(Say("ok")), tmp_path / "log") as (_model, endpoint, client):
        for form in dressed(endpoint.token).values():
            ask(client, ApiFormat.OPENAI_CHAT, text=form)
        client.post(f"/v1/{endpoint.token}", json={})
    assert undressed((tmp_path / "log").read_text(), endpoint.token) == set()


def test_a_log_holds_no_control_characters(tmp_path: Path) -> None:
    nasty = "a\x1b[2Jb\x07c\x9bd\u202ee\ud800f\x00g\u2028h"
    with served([Raw(json.dumps({"choices": nasty}).encode())], tmp_path / "log") as (
        _model,
        _endpoint,
        client,
    ):
        path, body = request_of(ApiFormat.OPENAI_CHAT, text="x")
        body["messages"][0]["content"] = nasty
        client.post(path, content=json.dumps(body))
    data = (tmp_path / "log").read_bytes()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    assert not re.search("[\x80-\x9f\u202e\u2028\ud800-\udfff]", data.decode())
    assert json.loads(data)["request"]["messages"][0]["content"].startswith("a\x1b[2Jb\x07c\x9bd")


def test_gateway_has_interface_of_runs(tmp_path: Path) -> None:
    with ScriptedModel([]) as model, gateway_to(model) as gateway:
        requested: ModelGateway = gateway
        with requested.open_endpoint(
            budget_usd=1, log=tmp_path / "agent" / "llm.jsonl", lane="t/1"
        ) as endpoint:
            assert endpoint.model == requested.model == "gpt-5"
            assert set(endpoint.api_formats) == set(ApiFormat)
            assert stat.S_IMODE(endpoint.socket.stat().st_mode) == 0o666
            assert stat.S_IMODE(endpoint.socket.parent.stat().st_mode) == 0o755
            assert stat.S_IMODE(endpoint.socket.parent.parent.stat().st_mode) == 0o711
            assert len(str(endpoint.socket)) < 100
            assert endpoint.traffic().usage.cost_usd == 0.0
        assert (tmp_path / "agent" / "llm.jsonl").read_bytes() == b""


def test_tokens_are_new_each_time(tmp_path: Path) -> None:
    with ScriptedModel([]) as model, gateway_to(model) as gateway:
        tokens = set()
        for number in range(5):
            with gateway.open_endpoint(budget_usd=1, log=tmp_path / str(number)) as endpoint:
                tokens.add(endpoint.token)
    assert len(tokens) == 5
    assert all(len(token) > 40 for token in tokens)


def test_endpoints_open_and_close_in_many_threads(tmp_path: Path) -> None:
    reported = []

    def attempt(gateway, number):
        with (
            gateway.open_endpoint(budget_usd=1, log=tmp_path / str(number)) as endpoint,
            plain_client(endpoint) as client,
        ):
            for _ in range(5):
                ask(client, ApiFormat.OPENAI_CHAT, stream=number % 2 == 0)
            reported.append(endpoint.traffic().usage)

    with (
        ScriptedModel(for_ever(Say("hi", Tokens(10, 1)))) as model,
        gateway_to(model) as gateway,
    ):
        threads = [Thread(target=attempt, args=(gateway, number)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(usage.requests, usage.input_tokens) for usage in reported] == [(5, 50)] * 16
    assert [len(lines_of(tmp_path / str(number))) for number in range(16)] == [5] * 16


TOKENS = Tokens(input=1000, output=200, cached=400, cache_written=0, reasoning=50)
WRITING = Tokens(input=1000, output=200, cached=400, cache_written=300)
TOOL = {"name": "look", "parameters": {"type": "object", "properties": {}}}


def costs(input_rate, cached_rate, output_rate, times=1):
    return pytest.approx(
        times * (600 * input_rate + 400 * cached_rate + 200 * output_rate) / 1e6, rel=1e-12
    )


def assert_told(endpoint, model, *, requests):
    usage = endpoint.traffic().usage
    assert usage.requests == requests
    assert usage.input_tokens == model.told.input == requests * 1000
    assert usage.output_tokens == model.told.output == requests * 200
    assert usage.cached_tokens == model.told.cached == requests * 400


def test_openai_chat(tmp_path: Path) -> None:
    script = [Say("good day", TOKENS), Call("look", {"a": 1}, tokens=TOKENS)] * 2
    with (
        ScriptedModel(script) as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        open_ai(endpoint) as client,
    ):
        create = client.chat.completions.create
        whole = create(model="gpt-5", messages=[USER])
        called = create(model="gpt-5", messages=[USER])
        text = "".join(
            chunk.choices[0].delta.content or ""
            for chunk in create(model="gpt-5", messages=[USER], stream=True)
        )
        tools = [{"type": "function", "function": TOOL}]
        with client.chat.completions.stream(
            model="gpt-5", messages=[USER], tools=tools, stream_options={"include_usage": True}
        ) as stream:
            streamed = stream.get_final_completion()

        assert (whole.choices[0].message.content, text) == ("good day", "good day")
        for answer in (called, streamed):
            assert answer.choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'
        assert streamed.usage.prompt_tokens == 1000
        assert_told(endpoint, model, requests=4)
        assert endpoint.traffic().usage.cost_usd == costs(1.25, 0.125, 10, times=4)


def test_openai_responses(tmp_path: Path) -> None:
    script = [Say("good day", TOKENS), Call("look", {"a": 1}, tokens=TOKENS)]
    with (
        ScriptedModel(script) as model,
        endpoint_to(model, tmp_path / "log") as endpoint,
        open_ai(endpoint) as client,
    ):
        whole = client.responses.create(model="gpt-5", input="hello")
        with client.responses.stream(model="gpt-5", input="hello") as stream:
            streamed = stream.get_final_response()

        assert whole.output_text == "good day"
        assert streamed.output[0].arguments == '{"a": 1}'
        assert_told(endpoint, model, requests=2)
        assert endpoint.traffic().usage.cost_usd == costs(1.25, 0.125, 10, times=2)


def test_anthropic_messages(tmp_path: Path) -> None:
    script = [Say("good day", WRITING), Call("look", {"a": 1}, "I look", tokens=WRITING)]
    name = "claude-opus-4-8"
    with (
        ScriptedModel(script) as model,
        endpoint_to(model, tmp_path / "log", model=name) as endpoint,
        anthropic_ai(endpoint) as client,
    ):
        counted = client.messages.count_tokens(model=name, messages=[USER])
        whole = client.messages.create(model=name, messages=[USER], max_tokens=9)
        with client.messages.stream(model=name, messages=[USER], max_tokens=9) as stream:
            streamed = stream.get_final_message()

        assert counted.input_tokens == 7
        assert whole.content[0].text == "good day"
        assert streamed.content[1].input == {"a": 1}
        assert_told(endpoint, model, requests=2)
        once = (300 * 5 + 400 * 0.5 + 300 * 6.25 + 200 * 25) / 1e6
        assert endpoint.traffic().usage.cost_usd == pytest.approx(2 * once, rel=1e-12)


@pytest.mark.parametrize("stream", [False, True])
def test_gemini_generate(tmp_path: Path, stream: bool) -> None:
    name = "gemini-2.5-pro"
    with (
        ScriptedModel(for_ever(Say("good day to all of you", TOKENS))) as model,
        endpoint_to(model, tmp_path / "log", model=name) as endpoint,
        plain_client(endpoint, headers={"x-goog-api-key": endpoint.token}) as client,
    ):
        answer = ask(client, ApiFormat.GEMINI_GENERATE, model=name, stream=stream)

        assert "good day to " in answer.text
        assert_told(endpoint, model, requests=1)
        assert endpoint.traffic().usage.cost_usd == costs(1.25, 0.125, 10)


def test_two_hundred_streams_are_counted(tmp_path: Path) -> None:
    go = threading.Event()
    model = ScriptedModel(for_ever(Say("one two three four five", TOKENS, hold=go)))
    texts = []

    def one(client):
        path, body = "/v1/chat/completions", {"model": "gpt-5", "messages": [], "stream": True}
        texts.append(client.post(path, json=body).text)

    with model, endpoint_to(model, tmp_path / "log") as endpoint, plain_client(endpoint) as client:
        threads = [threading.Thread(target=one, args=(client,)) for _ in range(200)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(model.asked) >= 100)  # the client's own pool lets out no more
        go.set()
        for thread in threads:
            thread.join()
        assert_told(endpoint, model, requests=200)
        assert endpoint.traffic().errors == {}
    assert all(text.endswith("data: [DONE]\n\n") for text in texts)
    assert len(lines_of(tmp_path / "log")) == 200


def test_attempts_are_isolated(tmp_path: Path) -> None:
    with (
        ScriptedModel(for_ever(Say("hi", TOKENS))) as model,
        gateway_to(model) as gateway,
        gateway.open_endpoint(budget_usd=1, log=tmp_path / "one" / "llm.jsonl") as one,
        gateway.open_endpoint(budget_usd=1, log=tmp_path / "two" / "llm.jsonl") as two,
    ):
        assert one.socket.parent != two.socket.parent
        assert list(one.socket.parent.iterdir()) == [one.socket]
        with plain_client(one) as client:
            assert ask(client, ApiFormat.OPENAI_CHAT).status_code == 200
        with plain_client(two, headers={"authorization": f"Bearer {one.token}"}) as client:
            assert (
                ask(client, ApiFormat.OPENAI_CHAT).status_code == 401
            )  # a token has its own endpoint
        assert (one.traffic().usage.requests, two.traffic().usage.requests) == (1, 0)
        assert [finding.rule for finding in two.traffic().findings] == ["gateway-token"]


def test_end_of_attempt_cuts_its_requests(tmp_path: Path) -> None:
    go = threading.Event()
    with ScriptedModel([Say("one two three four", TOKENS, hold=go)]) as model:
        with endpoint_to(model, tmp_path / "log") as endpoint, plain_client(endpoint) as client:
            body = {"model": "gpt-5", "messages": [], "stream": True}
            with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                next(answer.iter_bytes())
                door_facts = endpoint.traffic
        go.set()
    assert not endpoint.socket.parent.exists()
    facts = door_facts()
    assert (facts.errors, facts.last_failure) == ({}, None)
    assert lines_of(tmp_path / "log")[0]["abandoned"] is True


def test_replay_gives_equal_answers_for_free(tmp_path: Path) -> None:
    script = [Say("first", TOKENS), Fail(429, retry_after=0), Call("look", {"a": 1}, tokens=TOKENS)]
    file = tmp_path / "answers.jsonl"
    with (
        ScriptedModel(script) as model,
        gateway_to(model, record=file) as gateway,
        gateway.open_endpoint(budget_usd=9, log=tmp_path / "1", lane="task/1") as endpoint,
    ):
        recorded = conversation(endpoint)
        facts = endpoint.traffic()
    with (
        run_gateway(None, model="gpt-5", prices=known_prices(), replay=file) as gateway,
        gateway.open_endpoint(budget_usd=9, log=tmp_path / "2", lane="task/1") as endpoint,
    ):
        gateway.probe()
        replayed = conversation(endpoint)
        again = endpoint.traffic()
        with plain_client(endpoint) as client:
            other = ask(client, ApiFormat.OPENAI_CHAT)
        last = endpoint.traffic().last_failure

    assert replayed == recorded
    assert (again.usage.input_tokens, again.usage.output_tokens) == (2000, 400)
    assert again.errors == facts.errors == {ModelErrorKind.RATE_LIMIT: 1}
    assert facts.usage.cost_usd == costs(1.25, 0.125, 10, times=2)
    assert again.usage.cost_usd == 0.0
    assert (other.status_code, last.kind) == (502, ModelErrorKind.CONNECTION)
    assert "not in the recording" in other.json()["error"]["message"]
    assert model.key not in file.read_text()


def conversation(endpoint):
    """Status, headers that matter and the chunks of three answers."""
    observed = []
    with plain_client(endpoint) as client:
        for stream in (False, True, True):
            body = {"model": "gpt-5", "messages": [USER], "stream": stream}
            with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                stored = {
                    name: answer.headers.get(name) for name in ("retry-after", "content-type")
                }
                observed.append((answer.status_code, stored, list(answer.iter_raw())))
    return observed


def test_invalid_settings_are_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("something else\n")
    prices = known_prices()
    endpoints = endpoints_of("http://127.0.0.1:1", None)
    for wrong, options in (
        (UsageError, {"record": tmp_path / "a", "replay": tmp_path / "b"}),
        (InputError, {"replay": tmp_path / "nothing"}),
        (InputError, {"replay": tmp_path / "other"}),
        (InputError, {"record": tmp_path / "other"}),
        (StorageError, {"record": tmp_path / "other" / "file"}),
    ):
        with pytest.raises(wrong), run_gateway(endpoints, model="m", prices=prices, **options):
            pass
    with pytest.raises(UsageError), run_gateway(None, model="m", prices=prices):
        pass


def test_gateway_removes_its_files(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    with ScriptedModel([]) as model, endpoint_to(model, tmp_path / "log") as endpoint:
        path = endpoint.socket
    with pytest.raises(FileNotFoundError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    assert not path.parent.parent.exists()
    assert set(threading.enumerate()) == threads


WIRES = list(ApiFormat)
FAILURES = [Fail(500), Fail(429), Fail(401), Fail(404), Fail(529), Reset(), Cut(), Raw(b"<html>")]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failed_request_for_another_model_is_no_failure_of_the_runs_model(tmp_path, wire, answer):
    with served([answer], tmp_path / "log") as (_model, endpoint, client):
        ask(client, wire, model="no-such-model")
        facts = endpoint.traffic()
    assert (facts.errors, facts.last_failure) == ({}, None)
    assert "gateway-other-model" in [finding.rule for finding in facts.findings]


def test_answer_of_another_model_does_not_clear_a_failure(tmp_path):
    with served([Fail(500), Say("hi")], tmp_path / "log") as (_model, endpoint, client):
        ask(client, ApiFormat.OPENAI_CHAT)
        ask(client, ApiFormat.OPENAI_CHAT, model="other")
        assert endpoint.traffic().last_failure.kind is ModelErrorKind.SERVER_ERROR


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failure_that_the_gateway_repeats_with_success_is_cleared(tmp_path, wire, answer):
    with served([answer, Say("hi")], tmp_path / "log") as (model, endpoint, client):
        ask(client, wire)
        assert endpoint.traffic().last_failure is not None
        endpoint.settle()
        facts = endpoint.traffic()
    assert facts.last_failure is None
    assert "gateway-repeated" in [finding.rule for finding in facts.findings]
    assert len(model.asked) == 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [*FAILURES, Hang()], ids=repr)
def test_failure_of_the_repeated_request_stays(tmp_path, wire, answer):
    bounds = AnswerLimits(idle_s=0.5, patience_s=0.5)
    with served(for_ever(answer), tmp_path / "log", bounds=bounds) as (_model, endpoint, client):
        ask(client, wire)
        before = endpoint.traffic().last_failure
        endpoint.settle()
        assert endpoint.traffic().last_failure == before is not None


@pytest.mark.parametrize(
    ("answer", "kind"), [(Say("hi"), None), (Hang(), ModelErrorKind.TIMEOUT), (Endless(), None)]
)
def test_client_that_leaves_early_is_asked_after(tmp_path: Path, answer, kind):
    with (
        ScriptedModel([Hang(), answer]) as model,
        endpoint_to(model, tmp_path / "log", bounds=AnswerLimits(patience_s=2)) as endpoint,
    ):
        with asking(endpoint, ApiFormat.OPENAI_CHAT):
            wait_until(lambda: model.asked)
        wait_until((tmp_path / "log").read_text)  # it is seen to have left
        endpoint.settle()
        failure = endpoint.traffic().last_failure
    assert (failure.kind if failure else None) == kind


def test_own_error_is_not_repeated(tmp_path):
    with served([Fail(400), Say("hi")], tmp_path / "log") as (model, endpoint, client):
        ask(client, ApiFormat.OPENAI_CHAT)
        endpoint.settle()
        assert endpoint.traffic().last_failure.kind is ModelErrorKind.MALFORMED
    assert len(model.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_its_client_leaves_counts_by_its_words(tmp_path, wire):
    go, words = threading.Event(), "one two three four five six seven eight"
    path, body = request_of(wire, stream=True, text="word " * 400)
    with served([Say(words, Tokens(0, 0), hold=go)], tmp_path / "log") as (
        _model,
        endpoint,
        client,
    ):
        try:
            with client.stream("POST", path, json=body) as answer:
                observed = b""
                for chunk in answer.iter_raw():
                    observed += chunk
                    if b"one" in observed:
                        break
            wait_until((tmp_path / "log").read_text)  # it is seen to have left
        finally:
            go.set()
        facts = endpoint.traffic()
    assert facts.usage.input_tokens >= 400
    assert facts.usage.output_tokens >= 1
    assert facts.usage.cost_usd > 0
    assert lines_of(tmp_path / "log")[0]["tokens"]["output"] >= 1
    assert "gateway-estimated-usage" in [finding.rule for finding in facts.findings]


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_its_provider_cuts_counts_as_far_as_it_says(tmp_path, wire):
    path, body = request_of(wire, stream=True, text="word " * 400)
    with served([Cut()], tmp_path / "log") as (model, endpoint, client):
        with suppress(httpx2.TransportError):
            client.post(path, json=body)
        facts = endpoint.traffic()
        reported = model.told
    assert (facts.usage.input_tokens, facts.usage.output_tokens) == (
        reported.input,
        reported.output,
    )
    assert "gateway-estimated-usage" not in [finding.rule for finding in facts.findings]


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_is_too_long_counts_by_its_words(tmp_path, wire):
    path, body = request_of(wire, stream=True, text="word " * 400)
    bounds = AnswerLimits(answer_bytes=4000)
    with served([Say("word " * 3000)], tmp_path / "log", bounds=bounds) as (
        _model,
        endpoint,
        client,
    ):
        with suppress(httpx2.TransportError):
            client.post(path, json=body)
        facts = endpoint.traffic()
    assert facts.usage.input_tokens >= 100  # two formats say at once how many there are
    assert facts.usage.output_tokens >= 30
    assert "gateway-estimated-usage" in [finding.rule for finding in facts.findings]


@pytest.mark.parametrize(
    "name",
    [
        "OpenAI-Organization", "OpenAI-Project", "X-Goog-User-Project", "X-Forwarded-Host",
        "X-Forwarded-For", "Forwarded", "X-Original-Host", "X-Host", "anthropic-organization-id",
        "anthropic-workspace-id", "X-Account-Id", "x-ms-billing-party", "X-Tenant", "api-key",
        "X-Portkey-Api-Key", "X-Auth-Token", "X-HTTP-Method-Override", "X-Original-URL",
        "X-Org", "OpenAI_Organization",
    ],
)  # fmt: skip
def test_header_that_chooses_an_account_or_a_host_is_not_passed_on(tmp_path, name):
    stored = {
        "anthropic-beta": "a", "openai-beta": "b", "x-stainless-lang": "python",
        "user-agent": "me", "originator": "codex", "session_id": "s", "x-mine": "1",
    }  # fmt: skip
    path, body = request_of(ApiFormat.OPENAI_CHAT)
    with served([Say("hi")], tmp_path / "log") as (model, _endpoint, client):
        client.post(f"{path}?alt=sse&userProject=p&key=k", json=body, headers={name: "v", **stored})
    (asked,) = model.asked
    assert name.lower() not in asked.headers
    assert stored.items() <= asked.headers.items()
    assert asked.query == "alt=sse"
