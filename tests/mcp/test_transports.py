"""The wire itself: lines that are no messages, and how the server ends."""

import json
import os
import signal
import socket
import subprocess
from contextlib import contextmanager

import anyio
import httpx2
import pytest

from agentbench.errors import UsageError
from agentbench.mcp.transports import HttpAddress, serve_http
from tests.mcp.connection import ENVIRON, START, TOKEN, client_of, command_for, listening
from tests.patience import HANG_SECONDS

PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@contextmanager
def started(root):
    with subprocess.Popen(
        command_for(root),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRON,
    ) as process:
        yield process
        process.stdin.close()
        process.wait(HANG_SECONDS)


@pytest.fixture
def server(tmp_path):
    with started(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that leave it as it was."""
    with started(tmp_path_factory.mktemp("root")) as server:
        assert ask(server, START)["result"]["serverInfo"]["name"] == "agentbench"
        yield server


def ask(server, line):
    server.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode())
    server.stdin.write(b"\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"", -32700),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 5, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
    ],
    ids=repr,
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(shared, line, code):
    answer = ask(shared, line)
    assert answer["error"]["code"] == code
    assert answer["id"] is None
    assert ask(shared, PING)["result"] == {}


def test_a_request_without_what_it_needs_is_an_error_of_its_own_id(shared):
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 3}}
    answer = ask(shared, call)
    assert (answer["id"], answer["error"]["code"]) == (9, -32602)


def test_the_server_ends_when_stdin_does(server):
    ask(server, START)
    server.stdin.close()
    assert server.wait(HANG_SECONDS) == 0
    assert server.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_when_told_to_although_its_client_is_still_there(server, number):
    ask(server, START)
    os.kill(server.pid, number)
    assert server.wait(HANG_SECONDS) == 130
    assert server.stderr.read() == b""


def test_a_client_that_stops_listening_is_no_bug(server):
    ask(server, START)
    server.stdout.close()
    server.stdin.write(json.dumps(PING).encode() + b"\n" + json.dumps(PING).encode() + b"\n")
    server.stdin.close()
    assert server.wait(HANG_SECONDS) == 0
    assert b"bug in agentbench" not in server.stderr.read()


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
