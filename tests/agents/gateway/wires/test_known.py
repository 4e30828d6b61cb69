import pytest

from agentbench.agents.gateway.wires.known import FORMATS, likely_format, route_of
from agentbench.agents.model_door import ModelErrorKind, Wire


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/chat/completions", Wire.OPENAI_CHAT),
        ("/chat/completions", Wire.OPENAI_CHAT),
        ("/v1/responses", Wire.OPENAI_RESPONSES),
        ("/v1/v1/messages", Wire.ANTHROPIC_MESSAGES),
        ("/v1beta/models/m-1.5:generateContent", Wire.GEMINI_GENERATE),
        ("/v1beta/openai/chat/completions", Wire.OPENAI_CHAT),
    ],
)
def test_a_path_is_of_one_wire(path: str, wire: Wire) -> None:
    route = route_of(path)
    assert (route.wire, route.counts_only) == (wire, False)
    assert route.format is FORMATS[wire]


def test_counting_is_told_apart() -> None:
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
def test_anything_else_leads_nowhere(path: str) -> None:
    assert route_of(path) is None


def test_errors_are_in_the_form_of_the_likely_provider() -> None:
    assert likely_format("/v1/messages/batches").wire is Wire.ANTHROPIC_MESSAGES
    assert likely_format("/v1beta/models/x:embed").wire is Wire.GEMINI_GENERATE
    assert likely_format("/v1/embeddings").wire is Wire.OPENAI_CHAT


@pytest.mark.parametrize("kind", list(ModelErrorKind))
@pytest.mark.parametrize("wire", list(Wire))
def test_every_kind_of_error_can_be_written_on_every_wire(wire: Wire, kind: ModelErrorKind) -> None:
    error = FORMATS[wire].error_body(kind, 499, "words")["error"]
    assert error["message"] == "words"
    assert error.get("type") or error["code"] == 499
