"""Who may talk to the HTTP server."""

import socket

import anyio
import httpx2
import pytest

from agentbench.errors import UsageError
from agentbench.mcp.transports import HttpAddress, serve_http
from tests.mcp.connection import START, TOKEN, client_of, command_for, listening
from tests.patience import HANG_SECONDS

WITH_TOKEN = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    with listening(command_for(root, "--transport", "http", "--port", "0")) as url:
        yield url


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:{port}"}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer \u00fc".encode("latin-1")}, 401),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
    ],
    ids=str,
)
def test_only_who_has_the_token_and_comes_from_this_machine_is_served(url, headers, status):
    port = httpx2.URL(url).port
    changed = {
        name: value.format(port=port) if isinstance(value, str) else value
        for name, value in headers.items()
    }
    answer = httpx2.post(url, json=START, headers={**WITH_TOKEN, **changed}, timeout=HANG_SECONDS)
    assert answer.status_code == status


def test_a_request_that_is_too_large_is_refused_and_the_server_stays_up(url):
    answer = httpx2.post(url, content=b"x" * 10_000_000, headers=WITH_TOKEN, timeout=HANG_SECONDS)
    assert answer.status_code == 413
    with client_of(url) as session:
        assert not session.call("explain_failure", {"exit_code": 1}).is_error


def test_no_other_machine_reaches_it_by_default(url):
    assert httpx2.URL(url).host == "127.0.0.1"


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = HttpAddress(host="127.0.0.1", port=taken.getsockname()[1], token="t")
        with pytest.raises(UsageError, match=r"cannot listen on .*in use"):
            anyio.run(serve_http, None, address, print)
