"""A client's own doing is neither a failure of the model nor free."""

import threading
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from agentbench.models.gateway.upstream import AnswerLimits
from agentbench.models.interface import ApiFormat, ModelErrorKind
from tests.fakes.scripted_model import (
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
from tests.models.gateway.at_the_door import ask, door_to, lines_of, plain_client, request_of
from tests.models.gateway.test_gateway_forwarding import asking
from tests.patience import wait_until

WIRES = list(ApiFormat)
FAILURES = [Fail(500), Fail(429), Fail(401), Fail(404), Fail(529), Reset(), Cut(), Raw(b"<html>")]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failed_request_for_another_model_is_no_failure_of_the_runs_model(tmp_path, wire, answer):
    with (
        ScriptedModel([answer]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        ask(client, wire, model="no-such-model")
        facts = door.traffic()
    assert (facts.errors, facts.last_failure) == ({}, None)
    assert "gateway-other-model" in [finding.rule for finding in facts.findings]


def test_answer_of_another_model_does_not_clear_a_failure(tmp_path):
    with (
        ScriptedModel([Fail(500), Say("hi")]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        ask(client, ApiFormat.OPENAI_CHAT)
        ask(client, ApiFormat.OPENAI_CHAT, model="other")
        assert door.traffic().last_failure.kind is ModelErrorKind.SERVER_ERROR


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failure_that_the_gateway_repeats_with_success_is_cleared(tmp_path, wire, answer):
    with (
        ScriptedModel([answer, Say("hi")]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        ask(client, wire)
        assert door.traffic().last_failure is not None
        door.settle()
        facts = door.traffic()
    assert facts.last_failure is None
    assert "gateway-repeated" in [finding.rule for finding in facts.findings]
    assert len(model.asked) == 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [*FAILURES, Hang()], ids=repr)
def test_failure_of_the_repeated_request_stays(tmp_path, wire, answer):
    bounds = AnswerLimits(idle_s=0.5, patience_s=0.5)
    with (
        ScriptedModel(for_ever(answer)) as model,
        door_to(model, tmp_path / "log", bounds=bounds) as door,
        plain_client(door) as client,
    ):
        ask(client, wire)
        before = door.traffic().last_failure
        door.settle()
        assert door.traffic().last_failure == before is not None


@pytest.mark.parametrize(
    ("answer", "kind"), [(Say("hi"), None), (Hang(), ModelErrorKind.TIMEOUT), (Endless(), None)]
)
def test_client_that_leaves_early_is_asked_after(tmp_path: Path, answer, kind):
    with (
        ScriptedModel([Hang(), answer]) as model,
        door_to(model, tmp_path / "log", bounds=AnswerLimits(patience_s=2)) as door,
    ):
        with asking(door, ApiFormat.OPENAI_CHAT):
            wait_until(lambda: model.asked)
        wait_until((tmp_path / "log").read_text)  # it is seen to have left
        door.settle()
        failure = door.traffic().last_failure
    assert (failure.kind if failure else None) == kind


def test_own_error_is_not_repeated(tmp_path):
    with (
        ScriptedModel([Fail(400), Say("hi")]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        ask(client, ApiFormat.OPENAI_CHAT)
        door.settle()
        assert door.traffic().last_failure.kind is ModelErrorKind.MALFORMED
    assert len(model.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_its_client_leaves_counts_by_its_words(tmp_path, wire):
    go, words = threading.Event(), "one two three four five six seven eight"
    path, body = request_of(wire, stream=True, text="word " * 400)
    with (
        ScriptedModel([Say(words, Tokens(0, 0), hold=go)]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        try:
            with client.stream("POST", path, json=body) as answer:
                seen = b""
                for chunk in answer.iter_raw():
                    seen += chunk
                    if b"one" in seen:
                        break
            wait_until((tmp_path / "log").read_text)  # it is seen to have left
        finally:
            go.set()
        facts = door.traffic()
    assert facts.usage.input_tokens >= 400
    assert facts.usage.output_tokens >= 1
    assert facts.usage.cost_usd > 0
    assert lines_of(tmp_path / "log")[0]["tokens"]["output"] >= 1
    assert "gateway-estimated-usage" in [finding.rule for finding in facts.findings]


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_its_provider_cuts_counts_as_far_as_it_says(tmp_path, wire):
    path, body = request_of(wire, stream=True, text="word " * 400)
    with (
        ScriptedModel([Cut()]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        with suppress(httpx2.TransportError):
            client.post(path, json=body)
        facts = door.traffic()
        told = model.told
    assert (facts.usage.input_tokens, facts.usage.output_tokens) == (told.input, told.output)
    assert "gateway-estimated-usage" not in [finding.rule for finding in facts.findings]


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_is_too_long_counts_by_its_words(tmp_path, wire):
    path, body = request_of(wire, stream=True, text="word " * 400)
    bounds = AnswerLimits(answer_bytes=4000)
    with (
        ScriptedModel([Say("word " * 3000)]) as model,
        door_to(model, tmp_path / "log", bounds=bounds) as door,
        plain_client(door) as client,
    ):
        with suppress(httpx2.TransportError):
            client.post(path, json=body)
        facts = door.traffic()
    assert facts.usage.input_tokens >= 100  # two formats say at once how many there are
    assert facts.usage.output_tokens >= 30
    assert "gateway-estimated-usage" in [finding.rule for finding in facts.findings]


def test_whole_stream_counts_as_its_provider_says(tmp_path):
    path, body = request_of(ApiFormat.OPENAI_CHAT, stream=True)
    with (
        ScriptedModel([Say("one two", Tokens(70, 9))]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        client.post(path, json=body)
        usage = door.traffic().usage
    assert (usage.input_tokens, usage.output_tokens) == (70, 9)


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
    kept = {
        "anthropic-beta": "a", "openai-beta": "b", "x-stainless-lang": "python",
        "user-agent": "me", "originator": "codex", "session_id": "s", "x-mine": "1",
    }  # fmt: skip
    path, body = request_of(ApiFormat.OPENAI_CHAT)
    with (
        ScriptedModel([Say("hi")]) as model,
        door_to(model, tmp_path / "log") as door,
        plain_client(door) as client,
    ):
        client.post(f"{path}?alt=sse&userProject=p&key=k", json=body, headers={name: "v", **kept})
    (asked,) = model.asked
    assert name.lower() not in asked.headers
    assert kept.items() <= asked.headers.items()
    assert asked.query == "alt=sse"
