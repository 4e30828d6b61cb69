"""What would have the provider go to the network; the forms are those of the providers' pages."""

import gzip
import json
import os
import re
import socket
from pathlib import Path

import anthropic
import openai
import pytest

from agentbench.models.gateway.endpoint_app import models_page, network_access_in
from agentbench.models.gateway.http_server import parse_and_rewrite
from agentbench.models.gateway.providers import ProviderAccess
from agentbench.models.interface import ApiFormat, ModelErrorKind
from agentbench.scoring.evidence import Severity
from tests.fakes.scripted_model import Say, ScriptedModel, Tokens, for_ever
from tests.models.gateway.endpoint_clients import (
    SMALL,
    USER,
    anthropic_ai,
    ask,
    endpoint_to,
    endpoints_of,
    lines_of,
    open_ai,
    plain_client,
    request_of,
    served,
)

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
def test_network_access_of_request_is_named(wire, request_, named) -> None:
    assert named in network_access_in(wire, "m", request_, run_model="m")


@pytest.mark.parametrize(("wire", "request_"), INWARD, ids=str)
def test_client_side_tools_and_text_are_allowed(wire, request_) -> None:
    assert network_access_in(wire, "m", request_, run_model="m") is None


@pytest.mark.parametrize(
    "model",
    ["gpt-4o-search-preview", "gpt-5:online", "groq/compound", "sonar-pro", "o4-deep-research"],
)
def test_searching_model_is_allowed_only_as_the_runs_model(model) -> None:
    assert model in network_access_in(CHAT, model, {}, run_model="gpt-5")
    assert network_access_in(CHAT, model, {}, run_model=model) is None


def test_deeply_nested_tools_are_checked() -> None:
    tool = '{"type":"web_search"}'
    for _ in range(300):
        tool = f'{{"type":"namespace","tools":[{tool}]}}'
    request, _ = parse_and_rewrite(f'{{"tools":[{tool}]}}'.encode())
    assert "web_search" in network_access_in(RESPONSES, "m", request, run_model="m")


def test_refused_request_is_recorded_and_not_forwarded(tmp_path) -> None:
    log = tmp_path / "llm.jsonl"
    path, body = request_of(RESPONSES)
    with (
        ScriptedModel([]) as model,
        endpoint_to(model, log) as endpoint,
        plain_client(endpoint) as client,
    ):
        answer = client.post(path, json={**body, "tools": [{"type": "web_search"}]})
        facts = endpoint.traffic()
    assert answer.status_code == 400
    assert answer.headers["x-should-retry"] == "false"
    assert "turn it off in the agent" in answer.json()["error"]["message"]
    assert facts.last_failure.kind is ModelErrorKind.MALFORMED
    (finding,) = facts.findings
    assert (finding.rule, finding.severity) == ("gateway-network-access", Severity.WARNING)
    assert "'web_search'" in finding.what
    assert [line["status"] for line in lines_of(log)] == [400]
    assert model.asked == []


def test_checked_request_equals_forwarded_request(tmp_path) -> None:
    path, body = request_of(CHAT)
    twice = json.dumps(body)[:-1] + ', "tools": [{"type": "web_search"}], "tools": []}'
    with (
        ScriptedModel(for_ever(Say("hi"))) as model,
        endpoint_to(model, tmp_path / "llm.jsonl") as endpoint,
        plain_client(endpoint) as client,
    ):
        headers = {"content-type": "application/json"}
        assert client.post(path, content=twice, headers=headers).status_code == 200
        (found,) = model.requests
    assert found.body["tools"] == []


@pytest.mark.parametrize("path", ["/v1/models", "/models", "/v1/models/", "/v1/v1/models"])
def test_models_page_has_one_model(path: str) -> None:
    assert [each["id"] for each in models_page(path, "m")["data"]] == ["m"]


def test_model_is_found_by_name() -> None:
    assert models_page("/v1/models/org/m", "org/m")["id"] == "org/m"
    assert models_page("/v1beta/models/m", "m")["name"] == "models/m"
    assert models_page("/v1beta/models", "m")["models"][0]["displayName"] == "m"


@pytest.mark.parametrize("path", ["/", "/v1/models/other", "/v1/model", "/v1/files", "/v1beta"])
def test_other_paths_are_no_models_page(path: str) -> None:
    assert models_page(path, "m") is None


DEAR = Tokens(input=1_000_000, output=0)  # 1.25 USD of gpt-5


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "llm.jsonl"


def rules(endpoint) -> list[tuple[str, Severity]]:
    return [(finding.rule, finding.severity) for finding in endpoint.traffic().findings]


@pytest.mark.parametrize(
    "printed",
    [
        {"authorization": "Bearer {}"},
        {"authorization": "bearer {}"},
        {"x-api-key": "{}"},
        {"x-goog-api-key": "{}"},
        {"api-key": "{}"},
    ],
)
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_token_is_accepted_in_headers_of_clients(log, wire, printed) -> None:
    with ScriptedModel([Say("hi")]) as model, endpoint_to(model, log) as endpoint:
        headers = {name: value.format(endpoint.token) for name, value in printed.items()}
        with plain_client(endpoint, headers=headers) as client:
            assert ask(client, wire).status_code == 200
    assert endpoint.token not in str(model.asked[0].headers)


@pytest.mark.parametrize("wrong", ["wrong", "-", "\xff"])
def test_missing_token_is_refused_with_a_finding(log, wrong) -> None:
    with ScriptedModel([]) as model, endpoint_to(model, log) as endpoint:
        headers = {"authorization": f"Bearer {wrong}".encode("latin-1")}
        with plain_client(endpoint, headers=headers) as client:
            assert ask(client, ApiFormat.OPENAI_CHAT).json()["error"]["code"] == "invalid_api_key"
            answer = ask(client, ApiFormat.ANTHROPIC_MESSAGES)
            assert client.get("/v1/models").status_code == 401
        assert (answer.status_code, answer.json()["type"]) == (401, "error")
        assert rules(endpoint) == [("gateway-token", Severity.WARNING)] * 3
        assert endpoint.traffic().errors == {}
    assert model.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/files"),
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/v1/messages"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1beta/models/m:embedContent"),
        ("POST", "/v1beta/models/../../x:generateContent"),
        ("POST", "/v1/chat/completions/../../files"),
        ("GET", "/v1/models/another"),
        ("PUT", "/"),
    ],
)
def test_only_inference_is_forwarded(log, method, path) -> None:
    with served([], log) as (model, endpoint, client):
        answer = client.request(method, path, json={"model": "gpt-5"})
        assert answer.status_code == 403
        assert answer.json()["error"]["message"].startswith("agentbench gateway")
        assert rules(endpoint) == [("gateway-path", Severity.WARNING)]
    assert model.requests == []


@pytest.mark.parametrize(
    "line", [b"CONNECT example.org:443 HTTP/1.1", b"POST http://example.org/v1/files HTTP/1.1"]
)
def test_endpoint_is_no_proxy(log, line) -> None:
    with ScriptedModel([]) as model, endpoint_to(model, log) as endpoint:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(endpoint.socket))
            auth = f"authorization: Bearer {endpoint.token}".encode()
            client.sendall(line + b"\r\nhost: x\r\n" + auth + b"\r\ncontent-length: 0\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 403")
        assert rules(endpoint) == [("gateway-path", Severity.WARNING)]
    assert model.requests == []


def test_harmless_requests_give_no_finding(log) -> None:
    with (
        ScriptedModel([]) as model,
        endpoint_to(model, log) as endpoint,
        plain_client(endpoint) as client,
        open_ai(endpoint) as one,
        anthropic_ai(endpoint) as two,
    ):
        assert client.head("/").status_code == client.get("/").status_code == 200
        assert [each.id for each in one.models.list()] == ["gpt-5"]
        assert [each.id for each in two.models.list()] == ["gpt-5"]
        assert client.get("/v1/models/gpt-5").json()["id"] == "gpt-5"
        assert client.get("/v1beta/models").json()["models"][0]["name"] == "models/gpt-5"
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        assert client.get("/v1/responses", headers=upgrade).status_code == 426
        assert rules(endpoint) == []
        assert client.post("/api/event_logging/batch", json={}).status_code == 403
        assert rules(endpoint) == [("gateway-path", Severity.INFO)]
    assert model.requests == []


def test_unsupported_format_names_supported_ones(log) -> None:
    with ScriptedModel([]) as model:
        whole = endpoints_of(model.base_url, model.key).by_format
        only = {ApiFormat.OPENAI_CHAT: whole[ApiFormat.OPENAI_CHAT]}
        access = ProviderAccess(by_format=only, main=ApiFormat.OPENAI_CHAT)
        with endpoint_to(model, log, access=access) as endpoint, anthropic_ai(endpoint) as client:
            assert endpoint.api_formats == (ApiFormat.OPENAI_CHAT,)
            with pytest.raises(anthropic.PermissionDeniedError, match="speaks openai-chat"):
                client.messages.create(model="gpt-5", messages=[USER], max_tokens=9)


def test_other_model_is_forwarded_with_one_finding(log) -> None:
    with served(for_ever(Say("hi", Tokens(1_000_000, 0))), log) as (_model, endpoint, client):
        for _ in range(2):
            assert ask(client, ApiFormat.OPENAI_CHAT, model="gpt-5-mini").status_code == 200
        assert rules(endpoint) == [("gateway-other-model", Severity.WARNING)]
        assert endpoint.traffic().usage.cost_usd == pytest.approx(0.5)
        ask(client, ApiFormat.OPENAI_CHAT, model="nobody-knows")
        assert endpoint.traffic().usage.cost_usd is None
        assert len(rules(endpoint)) == 2


@pytest.mark.parametrize("wire", list(ApiFormat))
def test_spent_budget_is_a_quota_error_of_the_format(log, wire) -> None:
    with served(for_ever(Say("hi", DEAR)), log, budget_usd=2) as (model, endpoint, client):
        statuses = [ask(client, wire).status_code for _ in range(3)]
        last = ask(client, wire, stream=True)
        facts = endpoint.traffic()
    assert statuses[:2] == [200, 200]
    assert {*statuses[2:], last.status_code} <= {400, 403}
    assert last.headers["x-should-retry"] == "false"
    assert re.search("quota", last.text)
    assert facts.over_budget
    assert (facts.usage.requests, facts.usage.cost_usd) == (2, pytest.approx(2.5))
    assert (facts.errors, facts.last_failure) == ({}, None)
    assert len(model.asked) == 2


def test_clients_do_not_retry_after_spent_budget(log) -> None:
    with (
        ScriptedModel([]) as model,
        endpoint_to(model, log, budget_usd=0) as endpoint,
        open_ai(endpoint, max_retries=5) as one,
        anthropic_ai(endpoint, max_retries=5) as two,
    ):
        with pytest.raises(openai.PermissionDeniedError) as first:
            one.chat.completions.create(model="gpt-5", messages=[USER])
        with pytest.raises(openai.BadRequestError) as second:
            one.responses.create(model="gpt-5", input="hello")
        with pytest.raises(anthropic.PermissionDeniedError, match="billing_error"):
            two.messages.create(model="gpt-5", messages=[USER], max_tokens=9)
    assert first.value.code == second.value.code == "insufficient_quota"
    assert len(lines_of(log)) == 3
    assert all("budget of 0 USD is spent" in line["message"] for line in lines_of(log))


def test_budget_without_price_does_not_limit(log) -> None:
    with served(for_ever(Say("hi", DEAR)), log, budget_usd=0.01, model="my-own") as (
        _model,
        endpoint,
        client,
    ):
        for _ in range(3):
            assert ask(client, ApiFormat.OPENAI_CHAT, model="my-own").status_code == 200
        facts = endpoint.traffic()
    assert (facts.usage.cost_usd, facts.usage.requests, facts.over_budget) == (None, 3, False)


def test_too_large_request_is_refused_unread(log) -> None:
    with served([Say("hi")], log, bounds=SMALL) as (model, endpoint, client):
        path, body = request_of(ApiFormat.ANTHROPIC_MESSAGES)
        announced = client.post(path, content=b"x" * (2 << 20))
        parts = client.post(path, content=(b"x" * 65536 for _ in range(64)))
        bomb = gzip.compress(b" " * (2 << 20) + json.dumps(body).encode())
        packed = client.post(path, content=bomb, headers={"content-encoding": "gzip"})
        for answer in (announced, parts, packed):
            assert (answer.status_code, answer.json()["type"]) == (413, "error")
        assert rules(endpoint) == [("gateway-request-size", Severity.WARNING)]
        assert ask(client, ApiFormat.ANTHROPIC_MESSAGES).status_code == 200
    assert len(model.requests) == 1


def test_compressed_request_is_read(log) -> None:
    with served([Say("hi")], log) as (model, _endpoint, client):
        path, body = request_of(ApiFormat.OPENAI_CHAT, stream=True)
        data = json.dumps(body).encode()
        unknown = client.post(path, content=data, headers={"content-encoding": "zstd"})
        torn = client.post(path, content=b"no", headers={"content-encoding": "gzip"})
        zipped = {"content-encoding": "gzip"}
        good = client.post(path, content=gzip.compress(data), headers=zipped)
    assert (unknown.status_code, torn.status_code, good.status_code) == (415, 415, 200)
    assert model.asked[0].body["messages"] == [USER]


def test_malformed_request_is_an_error_of_the_agent(log) -> None:
    with served([], log) as (model, endpoint, client):
        for body in (b"", b"[]", b"{", os.urandom(99)):
            assert client.post("/v1/responses", content=body).status_code == 400
        assert endpoint.traffic().errors == {ModelErrorKind.MALFORMED: 4}
    assert model.requests == []
