"""A machine that needs a proxy itself: requests for listed hosts pass it, and only these."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench.sandbox.egress.upstream import UpstreamProxy, upstream_proxy
from tests.patience import HANG_SECONDS
from tests.sandbox.egress.proxy_client import WebServer, started_proxy

PROXY = UpstreamProxy(host="p", port=3128)


@pytest.mark.parametrize(
    ("env", "scheme", "found"),
    [
        ({}, "https", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "https", PROXY),
        ({"https_proxy": "p:3128", "HTTPS_PROXY": "q"}, "https", PROXY),
        ({"https_proxy": "http://p"}, "http", None),
        ({"ALL_PROXY": "http://p"}, "http", replace(PROXY, port=80)),
        (
            {"http_proxy": "https://me:a%40b@p"},
            "http",
            UpstreamProxy(host="p", port=443, is_encrypted=True, authorization="Basic bWU6YUBi"),
        ),
        ({"all_proxy": "socks5://p"}, "http", None),
        ({"https_proxy": "http://p:x"}, "https", None),
        ({"https_proxy": "http://p", "no_proxy": "a, .Example.org"}, "https", None),
        ({"https_proxy": "http://p", "NO_PROXY": "*"}, "https", None),
        ({"https_proxy": "http://p", "no_proxy": "ample.org"}, "https", replace(PROXY, port=80)),
    ],
)  # fmt: skip
def test_the_proxy_of_the_machine(
    env: dict[str, str], scheme: str, found: UpstreamProxy | None
) -> None:
    assert upstream_proxy(env, scheme, "www.example.org") == found


@contextmanager
def tunnelling(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that answers one request with some bytes, and then says everything back."""
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(HANG_SECONDS)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += connection.recv(4096)
                heads.append(head)
                connection.sendall(answer)
                while data := connection.recv(4096):
                    connection.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], heads
        thread.join()


def test_a_tunnel_passes_it_by_name(tmp_path: Path) -> None:
    # The name has no address on this machine: the other proxy resolves it.
    name = "only-upstream.invalid"
    with tunnelling(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nfirst ") as (port, heads):
        env = {"HTTPS_PROXY": f"http://me:pass@127.0.0.1:{port}"}
        with started_proxy(tmp_path, env) as client:
            client.allow(name)
            answer = client.ask(f"CONNECT {name}:443 HTTP/1.1\r\nHost: x\r\n\r\nsecond")
            assert answer.endswith("\r\n\r\nfirst second")
    (head,) = heads
    assert (
        head
        == (
            f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n"
            "Proxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n"
        ).encode()
    )


def test_plain_http_passes_it_as_a_whole_url(tmp_path: Path) -> None:
    with WebServer().running() as web:
        env = {"http_proxy": f"http://127.0.0.1:{web.port}"}
        with started_proxy(tmp_path, env) as client:
            client.allow("only-upstream.invalid")
            client.ask("GET http://only-upstream.invalid/a HTTP/1.0\r\n\r\n")
    ((method, target, headers, _),) = web.requests
    assert (method, target) == ("GET", "http://only-upstream.invalid/a")
    assert {"host": "only-upstream.invalid"}.items() <= {
        name.lower(): value for name, value in headers.items()
    }.items()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "example.org"])
def test_it_is_not_asked_for_what_is_refused_here(tmp_path: Path, host: str) -> None:
    with WebServer().running() as web:
        env = {"https_proxy": f"http://127.0.0.1:{web.port}"}
        with started_proxy(tmp_path, env) as client:
            client.allow("localhost")
            answer = client.ask(f"CONNECT {host}:443 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403")
    assert web.requests == []


def test_its_refusal_is_a_bad_gateway(tmp_path: Path) -> None:
    with WebServer().running() as web:
        env = {"https_proxy": f"http://127.0.0.1:{web.port}"}
        with started_proxy(tmp_path, env) as client:
            client.allow("only-upstream.invalid")
            answer = client.ask("CONNECT only-upstream.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer.startswith("HTTP/1.1 502")
            assert "answers 407" in answer
