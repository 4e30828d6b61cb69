import asyncio

import pytest

from agentbench.models.gateway.http_server import ClientRequest

TOKEN = "the-token"


def client(*headers: tuple[str, str], query: str = "", sent: list | None = None) -> ClientRequest:
    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        if sent is not None:
            sent.append(message)

    coded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"method": "POST", "path": "/v1/x", "query_string": query.encode(), "headers": coded}
    return ClientRequest(scope, receive, send)


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([("authorization", f"Bearer {TOKEN}")], ""),
        ([("authorization", f"bearer {TOKEN}")], ""),
        ([("authorization", "Bearer other"), ("x-api-key", TOKEN)], ""),
        ([("x-goog-api-key", TOKEN)], ""),
        ([("api-key", TOKEN)], ""),
        ([], f"alt=sse&key={TOKEN}"),
    ],
)
def test_a_token_is_found_wherever_clients_put_keys(headers, query) -> None:
    assert client(*headers, query=query).has_token(TOKEN)


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([], ""),
        ([("authorization", TOKEN)], ""),
        ([("authorization", f"Basic {TOKEN}")], ""),
        ([("x-api-key", TOKEN + "x")], ""),
        ([("x-api-key", "\xff")], ""),
        ([("cookie", TOKEN)], ""),
        ([], f"token={TOKEN}"),
    ],
)
def test_other_headers_hold_no_token(headers, query) -> None:
    assert not client(*headers, query=query).has_token(TOKEN)


def test_an_answer_has_its_length_and_is_done() -> None:
    sent: list = []
    asked = client(sent=sent)
    assert asyncio.run(asked.answer_json(403, {"a": 1}, [("x-b", "c")])) == b'{"a": 1}'
    start, body = sent
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (403, b"8")
    assert dict(start["headers"])[b"x-b"] == b"c"
    assert (body["more_body"], asked.answer_started, asked.done) == (False, True, True)


def test_request_waits_for_disconnect() -> None:
    asyncio.run(client().wait_for_disconnect())
