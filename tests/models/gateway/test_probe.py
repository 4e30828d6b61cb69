"""A bad key is found at once, and the message says what to do."""

import re
from collections.abc import Callable

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.models.gateway.gateway import run_gateway
from agentbench.models.gateway.providers import resolve_model
from agentbench.models.gateway.upstream import LOADING_SECONDS, PROBE_SECONDS, probe_seconds
from agentbench.models.interface import ModelErrorKind
from agentbench.models.model_catalogue import known_prices
from tests.fakes.scripted_model import Endless, Fail, Hang, Raw, Reset, Say, ScriptedModel, for_ever
from tests.patience import HANG_SECONDS

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
def test_a_model_that_answers_is_fine(provider: str) -> None:
    with ScriptedModel(for_ever(Say("ok"))) as server:
        probe(server, provider)
    assert len(server.asked) == 1


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_a_bad_key_is_named(provider: str) -> None:
    wrong = "sk-wrong-but-secret"
    with (
        ScriptedModel([], echo_key=True) as server,
        pytest.raises(UsageError, match=f"set {PROVIDERS[provider]}") as said,
    ):
        probe(server, provider, **{PROVIDERS[provider]: wrong})
    assert wrong not in str(said.value)


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_an_unknown_model_is_named(provider: str) -> None:
    with (
        ScriptedModel([], models=["another"]) as server,
        pytest.raises(UsageError, match="has no model 'm'"),
    ):
        probe(server, provider)


def test_an_empty_account_is_named() -> None:
    with (
        ScriptedModel(for_ever(Fail(429, ModelErrorKind.QUOTA))) as server,
        pytest.raises(UsageError, match="no credit left"),
    ):
        probe(server)


@pytest.mark.parametrize("answer", [Reset(), Fail(500)])
def test_no_answer_is_no_service(answer: Reset | Fail) -> None:
    with (
        ScriptedModel(for_ever(answer)) as server,
        pytest.raises(UnavailableError, match="--no-probe"),
    ):
        probe(server)
    assert len(server.asked) == 1


def test_a_model_that_hangs_is_no_service() -> None:
    with (
        ScriptedModel(for_ever(Hang())) as server,
        pytest.raises(UnavailableError, match=r"in time|within 0\.5 s"),
    ):
        probe(server, seconds=0.5)


def test_a_run_waits_less_than_five_seconds_for_its_model() -> None:
    assert PROBE_SECONDS < 5


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
    assert LOADING_SECONDS >= 60


def test_wait_for_a_model_is_announced() -> None:
    said: list[str] = []
    with ScriptedModel(for_ever(Hang())) as server, pytest.raises(UnavailableError):
        probe(server, seconds=0.5, say=said.append)
    assert said == [f"waiting up to 0.5 s for {server.base_url}/v1/chat/completions to load m"]


def test_nobody_there_is_no_service() -> None:
    server = ScriptedModel([])
    with server:
        pass
    with pytest.raises(UnavailableError, match="--base-url"):
        probe(server)


@pytest.mark.parametrize("answer", [Fail(429), Fail(529), Fail(400), Endless()])
def test_a_service_that_is_busy_or_minds_our_question_is_there(answer: Fail | Endless) -> None:
    with ScriptedModel(for_ever(answer)) as server:
        probe(server)


def test_a_model_that_speaks_the_newer_wire_alone_is_asked_on_that() -> None:
    says = "This model is only supported in v1/responses and not in v1/chat/completions."

    def newer(asked):
        return Fail(404, message=says) if "chat" in asked.path else Say("ok")

    with ScriptedModel(newer) as server:
        probe(server)
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v1/responses"]


def test_a_page_of_something_else_is_no_model() -> None:
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
def test_answer_that_is_no_models_is_named(body: bytes, kind: str, says: str) -> None:
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


def test_closed_connection_is_not_a_slow_answer() -> None:
    with (
        ScriptedModel(for_ever(Reset())) as server,
        pytest.raises(UnavailableError) as caught,
    ):
        probe(server)
    assert "within" not in str(caught.value)
