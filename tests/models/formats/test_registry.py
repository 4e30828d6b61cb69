from dataclasses import dataclass

import pytest

from agentbench.errors import LLMError
from agentbench.models.formats.registry import FORMATS, likely_format, preferred_format, route_of
from agentbench.models.interface import ApiFormat, ModelErrorKind


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/chat/completions", ApiFormat.OPENAI_CHAT),
        ("/chat/completions", ApiFormat.OPENAI_CHAT),
        ("/v1/v1/chat/completions", ApiFormat.OPENAI_CHAT),
        ("/v1/chat/completions/", ApiFormat.OPENAI_CHAT),
        ("/openai/v1/chat/completions", ApiFormat.OPENAI_CHAT),
        ("/v1/responses", ApiFormat.OPENAI_RESPONSES),
        ("/v1/v1/messages", ApiFormat.ANTHROPIC_MESSAGES),
        ("/v1beta/models/m-1.5:generateContent", ApiFormat.GEMINI_GENERATE),
        ("/v1beta/openai/chat/completions", ApiFormat.OPENAI_CHAT),
    ],
)
def test_path_belongs_to_one_format(path: str, wire: ApiFormat) -> None:
    route = route_of(path)
    assert (route.api_format, route.counts_only) == (wire, False)
    assert route.format is FORMATS[wire]


def test_token_counting_is_recognised() -> None:
    assert route_of("/v1/messages/count_tokens").counts_only
    google = route_of("/v1beta/models/m:countTokens")
    assert (google.counts_only, google.model, google.action) == (True, "m", "countTokens")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/v1",
        "/v1/chat/completions/x",
        "/x/v1/chat/completions",
        "http://example.org/v1/responses",
        "/v1/responses/../files",
        "/v1beta/models/a/b:generateContent",
        "/v1beta/models/m:batchEmbedContents",
        "/v1/responses\n",
        "//v1/responses",
    ],
)
def test_other_paths_have_no_route(path: str) -> None:
    assert route_of(path) is None


def test_errors_are_in_the_form_of_the_likely_provider() -> None:
    assert likely_format("/v1/messages/batches").api_format is ApiFormat.ANTHROPIC_MESSAGES
    assert likely_format("/v1beta/models/x:embed").api_format is ApiFormat.GEMINI_GENERATE
    assert likely_format("/v1/embeddings").api_format is ApiFormat.OPENAI_CHAT


@pytest.mark.parametrize("kind", list(ModelErrorKind))
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_each_error_has_a_body_in_each_format(wire: ApiFormat, kind: ModelErrorKind) -> None:
    error = FORMATS[wire].error_body(kind, 499, "words")["error"]
    assert error["message"] == "words"
    assert error.get("type") or error["code"] == 499


CHAT, MESSAGES = ApiFormat.OPENAI_CHAT, ApiFormat.ANTHROPIC_MESSAGES


@dataclass
class Offer:
    """As much of an endpoint as is looked at."""

    model: str
    api_formats: tuple[ApiFormat, ...]


@pytest.mark.parametrize(
    ("model", "wires", "wire"),
    [
        ("gpt-5", {CHAT, ApiFormat.OPENAI_RESPONSES}, CHAT),
        ("claude-opus-5", {MESSAGES}, MESSAGES),
        ("qwen3", {CHAT, MESSAGES}, CHAT),
        ("anthropic/claude-opus-5", {CHAT, MESSAGES}, MESSAGES),
        ("claude-opus-5", {CHAT}, CHAT),
        ("qwen3", {MESSAGES, ApiFormat.GEMINI_GENERATE}, MESSAGES),
    ],
)
def test_preferred_format_is_that_of_the_model(model, wires, wire):
    assert preferred_format(Offer(model, tuple(wires))) is wire


@pytest.mark.parametrize(
    ("wires", "found"),
    [({ApiFormat.GEMINI_GENERATE}, "gemini-generate"), (set(), "nothing")],
)
def test_no_common_format_is_reported(wires, found):
    with pytest.raises(LLMError) as caught:
        preferred_format(Offer("m", tuple(wires)))
    assert str(caught.value) == (
        f"the llm agent supports openai-chat or anthropic-messages; m offers {found}"
    )
