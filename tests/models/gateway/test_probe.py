"""A bad key is found at once, and the message says what to do."""

import pytest

from agentbench.errors import UnavailableError, UsageError
from agentbench.models.gateway.gateway import run_gateway
from agentbench.models.gateway.providers import resolve_model
from agentbench.models.gateway.upstream import PROBE_SECONDS
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
    **environ: str,
) -> None:
    environ = {PROVIDERS[provider]: server.key, **environ}
    found = resolve_model(f"{provider}/m", environ=environ, base_url=server.base_url)
    with run_gateway(found.endpoints, model=found.model, prices=known_prices()) as gateway:
        gateway.probe(seconds=seconds)


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
