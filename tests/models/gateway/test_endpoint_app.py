"""What would have the provider go to the network; the forms are those of the providers' pages."""

import json

import pytest

from agentbench.models.gateway.endpoint_app import models_page, network_access_in
from agentbench.models.gateway.http_server import parse_and_rewrite
from agentbench.models.interface import ApiFormat, ModelErrorKind
from agentbench.scoring.evidence import Severity
from tests.fakes.scripted_model import Say, ScriptedModel, for_ever
from tests.models.gateway.at_the_door import door_to, lines_of, plain_client, request_of

CHAT, RESPONSES = ApiFormat.OPENAI_CHAT, ApiFormat.OPENAI_RESPONSES
MESSAGES, GEMINI = ApiFormat.ANTHROPIC_MESSAGES, ApiFormat.GEMINI_GENERATE
SITE = "https://example.org/fix.png"


def said(*parts):
    return [{"role": "user", "content": list(parts)}]


OUTWARD = [
    (CHAT, {"web_search_options": {"search_context_size": "low"}}, "websearchoptions"),
    (CHAT, {"plugins": [{"id": "web"}]}, "plugins"),
    (CHAT, {"search_parameters": {"mode": "auto"}}, "searchparameters"),
    (CHAT, {"enable_search": True}, "enablesearch"),
    (CHAT, {"tools": [{"type": "openrouter:web_search"}]}, "openrouter:web_search"),
    (CHAT, {"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]}, "built"),
    (CHAT, {"Tools": [{"Type": "browser_search"}]}, "browser_search"),
    (CHAT, {"tools": [{"type": ["function"]}]}, "function"),
    (CHAT, {"extra_body": {"google": {"tools": [{"type": "x"}]}}}, "'x'"),
    (CHAT, {"messages": said({"type": "image_url", "image_url": {"url": SITE}})}, SITE),
    (CHAT, {"messages": said({"type": "image_url", "image_url": SITE})}, SITE),
    (CHAT, {"messages": said({"type": "video_url", "video_url": {"url": "file:///x"}})}, "file:"),
    (CHAT, {"messages": said({"type": "file", "file": {"file_data": SITE}})}, SITE),
    (CHAT, {"messages": said({"type": "input_audio", "input_audio": {"data": SITE}})}, SITE),
    (RESPONSES, {"tools": [{"type": "web_search"}]}, "web_search"),
    (RESPONSES, {"tools": [{"type": "web_search_preview_2025_03_11"}]}, "web_search_preview"),
    (RESPONSES, {"tools": [{"type": "function", "name": "f"}, {"type": "mcp"}]}, "mcp"),
    (RESPONSES, {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}, "code_"),
    (RESPONSES, {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, "shell"),
    (
        RESPONSES,
        {"tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]},
        "web_search",
    ),
    (RESPONSES, {"input": [{"type": "x", "tools": [{"type": "file_search"}]}]}, "file_search"),
    (RESPONSES, {"input": said({"type": "input_image", "image_url": SITE})}, SITE),
    (RESPONSES, {"input": said({"type": "input_file", "file_url": SITE})}, SITE),
    (RESPONSES, {"input": [{"type": "x", "output": [{"image_url": SITE}]}]}, SITE),
    (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_2"),
    (MESSAGES, {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}, "web_fetch_2"),
    (MESSAGES, {"tools": [{"type": "code_execution_20250825"}]}, "code_execution_2"),
    (MESSAGES, {"mcp_servers": [{"type": "url", "url": SITE}]}, "mcpservers"),
    (
        MESSAGES,
        {"messages": said({"type": "document", "source": {"type": "url", "url": SITE}})},
        SITE,
    ),
    (
        MESSAGES,
        {"messages": said({"type": "tool_result", "content": [{"source": {"url": SITE}}]})},
        SITE,
    ),
    (GEMINI, {"tools": [{"googleSearch": {}}]}, "googlesearch"),
    (GEMINI, {"tools": [{"functionDeclarations": []}, {"google_search": {}}]}, "googlesearch"),
    (GEMINI, {"tools": [{"urlContext": {}}]}, "urlcontext"),
    (GEMINI, {"tools": [{"code_execution": {}}]}, "codeexecution"),
    (GEMINI, {"contents": [{"parts": [{"fileData": {"fileUri": SITE}}]}]}, SITE),
    (GEMINI, {"system_instruction": {"parts": [{"file_data": {"file_uri": SITE}}]}}, SITE),
]

INWARD = [
    (CHAT, {"tools": [{"type": "function", "function": {"name": "web_search"}}], "plugins": []}),
    (CHAT, {"tools": None, "enable_search": False}),
    (
        CHAT,
        {"messages": said({"type": "image_url", "image_url": {"url": "data:image/png;base64,"}})},
    ),
    (CHAT, {"messages": [{"role": "user", "content": f"read {SITE}"}]}),
    (CHAT, {"messages": [{"role": "assistant", "tool_calls": [{"url": SITE}]}]}),
    (RESPONSES, {"tools": [{"type": kind} for kind in ("function", "custom", "local_shell")]}),
    (RESPONSES, {"tools": [{"type": "shell", "environment": {"type": "local"}}]}),
    (RESPONSES, {"tools": [{"type": "namespace", "tools": [{"type": "function", "name": "f"}]}]}),
    (RESPONSES, {"input": "hello", "tools": [{"type": "apply_patch"}]}),
    (MESSAGES, {"tools": [{"name": "WebSearch", "input_schema": {"properties": {"url": {}}}}]}),
    (MESSAGES, {"tools": [{"type": "custom", "name": "x"}, {"type": "bash_20250124"}]}),
    (MESSAGES, {"tools": [{"type": "text_editor_20250728"}, {"type": "memory_20250818"}]}),
    (MESSAGES, {"messages": said({"type": "tool_use", "input": {"url": SITE}})}),
    (MESSAGES, {"messages": said({"source": {"type": "base64", "data": "iVBORw0KGgo="}})}),
    (GEMINI, {"tools": [{"functionDeclarations": [{"name": "google_search"}]}]}),
    (GEMINI, {"contents": [{"parts": [{"functionCall": {"args": {"url": SITE}}}]}]}),
    (GEMINI, {"contents": [{"parts": [{"functionResponse": {"response": {"url": SITE}}}]}]}),
]


@pytest.mark.parametrize(("wire", "request_", "named"), OUTWARD, ids=str)
def test_what_reaches_out_is_named(wire, request_, named) -> None:
    assert named in network_access_in(wire, "m", request_, run_model="m")


@pytest.mark.parametrize(("wire", "request_"), INWARD, ids=str)
def test_what_a_client_does_itself_or_only_talks_about_is_let_through(wire, request_) -> None:
    assert network_access_in(wire, "m", request_, run_model="m") is None


@pytest.mark.parametrize(
    "model",
    ["gpt-4o-search-preview", "gpt-5:online", "groq/compound", "sonar-pro", "o4-deep-research"],
)
def test_a_model_that_searches_by_itself_is_for_a_person_to_choose(model) -> None:
    assert model in network_access_in(CHAT, model, {}, run_model="gpt-5")
    assert network_access_in(CHAT, model, {}, run_model=model) is None


def test_tools_nested_as_deep_as_json_goes_are_looked_at() -> None:
    tool = '{"type":"web_search"}'
    for _ in range(300):
        tool = f'{{"type":"namespace","tools":[{tool}]}}'
    request, _ = parse_and_rewrite(f'{{"tools":[{tool}]}}'.encode())
    assert "web_search" in network_access_in(RESPONSES, "m", request, run_model="m")


def test_nothing_of_it_reaches_the_provider_and_all_of_it_is_told(tmp_path) -> None:
    log = tmp_path / "llm.jsonl"
    path, body = request_of(RESPONSES)
    with ScriptedModel([]) as model, door_to(model, log) as door, plain_client(door) as client:
        answer = client.post(path, json={**body, "tools": [{"type": "web_search"}]})
        facts = door.traffic()
    assert answer.status_code == 400
    assert answer.headers["x-should-retry"] == "false"
    assert "turn it off in the agent" in answer.json()["error"]["message"]
    assert facts.last_failure.kind is ModelErrorKind.MALFORMED
    (finding,) = facts.findings
    assert (finding.rule, finding.severity) == ("gateway-way-out", Severity.WARNING)
    assert "'web_search'" in finding.what
    assert [line["status"] for line in lines_of(log)] == [400]
    assert model.asked == []


def test_what_was_read_is_all_that_the_provider_can_read(tmp_path) -> None:
    path, body = request_of(CHAT)
    twice = json.dumps(body)[:-1] + ', "tools": [{"type": "web_search"}], "tools": []}'
    with (
        ScriptedModel(for_ever(Say("hi"))) as model,
        door_to(model, tmp_path / "llm.jsonl") as door,
        plain_client(door) as client,
    ):
        headers = {"content-type": "application/json"}
        assert client.post(path, content=twice, headers=headers).status_code == 200
        (seen,) = model.requests
    assert seen.body["tools"] == []


@pytest.mark.parametrize("path", ["/v1/models", "/models", "/v1/models/", "/v1/v1/models"])
def test_there_is_one_model(path: str) -> None:
    assert [each["id"] for each in models_page(path, "m")["data"]] == ["m"]


def test_it_may_be_asked_for_by_name() -> None:
    assert models_page("/v1/models/org/m", "org/m")["id"] == "org/m"
    assert models_page("/v1beta/models/m", "m")["name"] == "models/m"
    assert models_page("/v1beta/models", "m")["models"][0]["displayName"] == "m"


@pytest.mark.parametrize("path", ["/", "/v1/models/other", "/v1/model", "/v1/files", "/v1beta"])
def test_anything_else_is_no_list_of_models(path: str) -> None:
    assert models_page(path, "m") is None
