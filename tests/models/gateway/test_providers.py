import pytest

from agentbench.errors import UsageError
from agentbench.models.gateway.providers import resolve_model
from agentbench.models.interface import ApiFormat

KEYS = {
    "OPENAI_API_KEY": "k-openai",
    "ANTHROPIC_API_KEY": "k-anthropic",
    "GEMINI_API_KEY": "k-gemini",
    "OPENROUTER_API_KEY": "k-router",
}


def test_provider_has_formats_key_and_address() -> None:
    found = resolve_model("anthropic/claude-x", environ=KEYS)
    assert found.model == "claude-x"
    assert found.endpoints.main is ApiFormat.ANTHROPIC_MESSAGES
    end = found.endpoints.by_format[ApiFormat.ANTHROPIC_MESSAGES]
    assert end.url == "https://api.anthropic.com/v1/messages"
    assert (end.key, end.key_headers) == ("k-anthropic", ("x-api-key",))
    assert found.endpoints.keys == {"k-anthropic"}
    assert "k-anthropic" not in repr(found)


@pytest.mark.parametrize("name", ["gemini", "google"])
def test_google_has_two_names(name: str) -> None:
    ends = resolve_model(f"{name}/gemini-2.5-pro", environ=KEYS).endpoints
    assert set(ends.by_format) == {ApiFormat.GEMINI_GENERATE, ApiFormat.OPENAI_CHAT}
    assert ends.by_format[ApiFormat.GEMINI_GENERATE].key_headers == ("x-goog-api-key",)


def test_router_keeps_slashes_in_model_name() -> None:
    found = resolve_model("openrouter/anthropic/claude-x", environ=KEYS)
    assert found.model == "anthropic/claude-x"
    assert found.endpoints.keys == {"k-router"}


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost/api/v1/", "http://localhost/api/v1/chat/completions"),
    ],
)
@pytest.mark.parametrize("model", ["Qwen/Qwen3-Coder", "llama3"])
def test_own_server_needs_no_key(model: str, base: str, url: str) -> None:
    for found in (
        resolve_model(model, environ={}, base_url=base),
        resolve_model(model, environ={"OPENAI_BASE_URL": base}),
    ):
        assert found.model == model
        end = found.endpoints.by_format[ApiFormat.OPENAI_CHAT]
        assert (end.url, end.key) == (url, None)
        assert found.endpoints.keys == frozenset()


@pytest.mark.parametrize("base", ["http://127.0.0.1:9", "http://127.0.0.1:9/v1/"])
def test_base_url_replaces_that_of_provider(base: str) -> None:
    for name, variable in (("openai", "OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_BASE_URL")):
        for found in (
            resolve_model(f"{name}/m", environ=KEYS, base_url=base),
            resolve_model(f"{name}/m", environ={**KEYS, variable: base}),
        ):
            url = found.endpoints.by_format[ApiFormat.OPENAI_CHAT].url
            assert url == "http://127.0.0.1:9/v1/chat/completions"


@pytest.mark.parametrize(
    ("model", "environ", "base", "result"),
    [
        ("openai/gpt-5", {}, None, "set OPENAI_API_KEY"),
        ("anthropic/x", {"ANTHROPIC_API_KEY": ""}, None, "set ANTHROPIC_API_KEY"),
        ("gpt-5", KEYS, None, "openai/gpt-5"),
        ("someone/model", {}, None, "--base-url"),
        ("openai/", KEYS, None, "the name of the model is missing after openai/"),
        ("", KEYS, None, "the name is missing"),
        ("m", {}, "localhost:8000", "not a base URL"),
        ("m", {}, "ftp://x/v1", "not a base URL"),
        ("m", {}, "http://[::1/v1", "not a base URL"),
        ("m", {}, "http://x:port/v1", "not a base URL"),
        ("m", {}, "http://me:secret@x/v1", "base URL of x has a user"),
        ("openai/gpt-5", KEYS, "https://x/v1?key=secret", "a query"),
    ],
)
def test_missing_settings_are_named(model, environ, base, result) -> None:
    with pytest.raises(UsageError, match=result):
        resolve_model(model, environ=environ, base_url=base)
