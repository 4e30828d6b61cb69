"""The proxy lets requests for listed hosts through, and nothing else, whatever its client sends."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentbench.sandbox.egress.proxy import (
    HEAD_BYTES,
    MAX_CONNECTIONS,
    MAX_RECORDS,
    EgressLog,
    EgressRecord,
)
from tests.patience import HANG_SECONDS
from tests.sandbox.egress.proxy_client import ProxyClient, WebServer, read_all, started_proxy


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer().running() as server:
        yield server


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ProxyClient]:
    with started_proxy(tmp_path, {}) as started:
        yield started


def get(url: str, *headers: str) -> str:
    return "\r\n".join([f"GET {url} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""])


def connect(target: str) -> str:
    return f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n"


def test_a_listed_host_answers_plain_http(client: ProxyClient, web: WebServer) -> None:
    client.allow("127.0.0.1")
    answer = client.ask(get(f"http://127.0.0.1:{web.port}/path?a=b"))
    assert answer.startswith("HTTP/1.1 200")
    assert answer.endswith("GET /path?a=b ")
    (record,) = client.records()
    assert (record.method, record.host, record.port) == ("GET", "127.0.0.1", web.port)
    assert record.allowed
    assert record.received == len("GET /path?a=b ")


def test_a_tunnel_carries_any_bytes(client: ProxyClient, web: WebServer) -> None:
    client.allow("127.0.0.1")
    inner = "GET /inner HTTP/1.0\r\n\r\n"
    answer = client.ask(connect(f"127.0.0.1:{web.port}") + inner)
    assert answer.startswith("HTTP/1.1 200 Connected\r\n")
    assert answer.endswith("GET /inner ")
    (record,) = client.records()
    assert (record.method, record.allowed, record.sent) == ("CONNECT", True, len(inner))


def test_several_requests_pass_one_connection(client: ProxyClient, web: WebServer) -> None:
    client.allow("127.0.0.1")
    first = get(f"http://127.0.0.1:{web.port}/1").replace("Connection: close\r\n", "")
    answer = client.ask(first + get("http://example.org/") + first)
    assert "GET /1 " in answer
    assert answer.count("HTTP/1.1 403") == 1
    assert [each.allowed for each in client.records()] == [True, False]
    assert [path for _, path, _, _ in web.requests] == ["/1"]


@pytest.mark.parametrize("length", ["Content-Length: 5\r\n\r\nhello", None])
def test_body_is_forwarded(client: ProxyClient, web: WebServer, length: str | None) -> None:
    client.allow("127.0.0.1")
    chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    head = f"POST http://127.0.0.1:{web.port}/chunked HTTP/1.1\r\nHost: x\r\n"
    answer = client.ask(f"{head}Expect: 100-continue\r\n{length or chunked}")
    assert "HTTP/1.1 200" in answer
    assert "POST /chunked hello" in answer
    assert [body for *_, body in web.requests] == [b"hello"]


def test_an_answer_without_a_body_is_forwarded(client: ProxyClient, web: WebServer) -> None:
    client.allow("127.0.0.1")
    answer = client.ask(get(f"http://127.0.0.1:{web.port}/").replace("GET", "HEAD"))
    assert "\r\ncontent-length: 7\r\n" in answer.lower()
    assert answer.endswith("\r\n\r\n")


def test_host_header_follows_the_url_without_credentials(
    client: ProxyClient, web: WebServer
) -> None:
    client.allow("127.0.0.1")
    more = ("Proxy-Authorization: Basic c2VjcmV0", "Upgrade: h2c", "X-Kept: yes")
    client.ask(get(f"http://127.0.0.1:{web.port}/", *more).replace("Host: x", "Host: example.org"))
    ((_, _, headers, _),) = web.requests
    assert {name.lower(): value for name, value in headers.items()} == {
        "host": f"127.0.0.1:{web.port}",
        "x-kept": "yes",
        "connection": "close",
    }


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]",
     "[::ffff:7f00:1]", "localhost", "LOCALHOST", "localhost.", "0.0.0.0", "[::]",
     "user@localhost", "user:secret@127.0.0.1", "example.org@127.0.0.1", "169.254.169.254",
     "127.0.0.1%00.example.org", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
)  # fmt: skip
@pytest.mark.parametrize("listed", ["example.org", "localhost", "0.0.0.0/0"])
def test_no_spelling_reaches_this_machine(
    client: ProxyClient, web: WebServer, host: str, listed: str
) -> None:
    client.allow(listed)
    answers = [
        client.ask(connect(f"{host}:{web.port}")),
        client.ask(get(f"http://{host}:{web.port}/")),
    ]
    assert all(each.startswith(("HTTP/1.1 403", "HTTP/1.1 400")) for each in answers), answers
    assert web.requests == []
    assert not any(each.allowed or each.received for each in client.records())


def test_name_of_this_machine_needs_its_listed_address(client: ProxyClient, web: WebServer) -> None:
    client.allow("localhost")
    answer = client.ask(get(f"http://localhost:{web.port}/"))
    assert "is not a public address" in answer
    assert not web.requests
    client.allow("localhost", "127.0.0.1")
    assert "200" in client.ask(get(f"http://LocalHost.:{web.port}/"))
    assert len(web.requests) == 1


def test_own_address_is_in_no_allowed_range(client: ProxyClient) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        own = probe.getsockname()[0]
    with WebServer((own, 0)).running() as web:
        client.allow("0.0.0.0/0")
        assert "403" in client.ask(get(f"http://{own}:{web.port}/")).splitlines()[0]
        assert not web.requests
        client.allow(own)
        assert "200" in client.ask(get(f"http://{own}:{web.port}/")).splitlines()[0]


@pytest.mark.parametrize(
    "request_text",
    [
        get("/"),
        get("https://example.org/"),
        get("ftp://example.org/"),
        get("http://example.org:0/"),
        get("http://example.org:99999/"),
        get("http:///path"),
        connect("example.org"),
        connect("example.org:443/path"),
        connect("::1:443"),
        "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET http://a/\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_malformed_request_is_refused(client: ProxyClient, request_text: str) -> None:
    client.allow("example.org", "a")
    answer = client.ask(request_text)
    assert answer.split(" ")[1] in {"400", "501"}, answer
    (record,) = client.records()
    assert not record.allowed
    assert record.why


def test_a_smuggled_request_stays_a_part_of_the_body(client: ProxyClient, web: WebServer) -> None:
    client.allow("127.0.0.1")
    smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    body = f"{len(smuggled):x}\r\n{smuggled}\r\n0\r\n\r\n"
    head = f"POST http://127.0.0.1:{web.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    answer = client.ask(f"{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
    assert answer.startswith("HTTP/1.1 200")
    ((_, path, headers, received),) = web.requests
    assert (path, received) == ("/", smuggled.encode())
    assert "content-length" not in {name.lower() for name in headers}


def test_a_huge_head_is_refused(client: ProxyClient) -> None:
    with client.connected() as connection:
        with suppress(ConnectionError):
            connection.sendall(b"GET http://a/ HTTP/1.1\r\nX: " + b"x" * (HEAD_BYTES + 1))
        assert connection.recv(64).startswith(b"HTTP/1.1 431")


@pytest.fixture
def slow(client: ProxyClient) -> Iterator[list[socket.socket]]:
    """As many connections as there may be but one, each of which has sent half a head."""
    with ExitStack() as stack:
        connections = [stack.enter_context(client.connected()) for _ in range(MAX_CONNECTIONS - 1)]
        for each in connections:
            each.sendall(b"GET http://127")
        yield connections


def test_slow_connection_delays_no_other(
    client: ProxyClient, web: WebServer, slow: list[socket.socket]
) -> None:
    client.allow("127.0.0.1")
    assert "200" in client.ask(get(f"http://127.0.0.1:{web.port}/"))
    client.records()  # the end of the stage cuts them
    for each in slow:
        with suppress(ConnectionError):
            assert each.recv(1) == b""


@pytest.mark.usefixtures("slow")
def test_connections_are_bounded(client: ProxyClient) -> None:
    with client.connected() as last, client.connected() as refused:
        with suppress(ConnectionError):
            assert refused.recv(1) == b""
        last.sendall(get("/").encode())
        assert last.recv(12) == b"HTTP/1.1 400"


def test_the_end_of_a_stage_cuts_tunnels_and_logs_them(client: ProxyClient) -> None:
    client.allow("127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server, client.connected() as connection:
        connection.sendall(connect(f"127.0.0.1:{server.getsockname()[1]}").encode() + b"early")
        far, _ = server.accept()
        with far:
            far.settimeout(HANG_SECONDS)
            assert far.recv(5) == b"early"
            far.sendall(b"late")
            head = b""
            while not head.endswith(b"late"):
                head += connection.recv(100)
            (record,) = client.records()
            assert (record.sent, record.received) == (5, 4)
            assert connection.recv(1) == b""
            with suppress(ConnectionError):
                assert far.recv(1) == b""


def test_unreachable_host_is_not_a_refusal(client: ProxyClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client.allow("127.0.0.1")
    assert client.ask(connect(f"127.0.0.1:{port}")).startswith("HTTP/1.1 502")
    (record,) = client.records()
    assert record.allowed
    assert record.why


def test_malformed_server_is_a_bad_gateway(client: ProxyClient) -> None:
    client.allow("127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server, client.connected() as connection:
        connection.sendall(get(f"http://127.0.0.1:{server.getsockname()[1]}/").encode())
        far, _ = server.accept()
        with far:
            far.sendall(b"SSH-2.0-x\r\n\r\n")
            assert read_all(connection).startswith("HTTP/1.1 502")


def test_the_log_is_bounded() -> None:
    log = EgressLog()
    for _ in range(MAX_RECORDS + 3):
        log.add(EgressRecord(at=datetime.now(UTC), method="GET", host="x"))
    *records, last = log.take().splitlines()
    assert (len(records), json.loads(last)) == (MAX_RECORDS, {"left_out": 3})
    assert json.loads(records[0])["host"] == "x"
    assert log.take() == b""
