"""Answers without end, over a real socket and with no gateway to stop them."""

import socket
from contextlib import contextmanager, suppress
from threading import Thread

import httpx2
import pytest

from agentbench.models.formats.registry import open_client
from agentbench.models.interface import ModelErrorKind
from agentbench.models.sdk_client import MAX_ANSWER_BYTES, EndpointTransport
from tests.fakes.scripted_model import Cut, Fail, Hang, Reset, Say, ScriptedModel
from tests.models.conftest import MODELS, answer_of, failure_of
from tests.models.gateway.endpoint_clients import endpoint_to

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n%s\r\n" % (b"x" * 0x10000)


@contextmanager
def serving(path, answer):
    """A server that answers one request in these pieces."""

    def serve():
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                for piece in answer:
                    connection.sendall(piece)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def endless():
    yield HEAD
    while True:
        yield CHUNK


@pytest.fixture
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("s") / "s"


def read(transport, **timeout):
    with httpx2.Client(transport=transport, trust_env=False) as client:
        return client.get("http://door/", timeout=httpx2.Timeout(None, **timeout)).content


def test_answer_is_read_unchanged(path):
    with serving(path, [HEAD, CHUNK, b"0\r\n\r\n"]):
        assert read(EndpointTransport(path)) == b"x" * 0x10000


def test_endless_answer_is_cut_at_size_limit(path):
    with (
        serving(path, endless()),
        pytest.raises(httpx2.RemoteProtocolError, match=f"has more than {MAX_ANSWER_BYTES} bytes"),
    ):
        read(EndpointTransport(path))


def test_trickling_answer_is_cut_at_deadline(path):
    hours = iter(range(1000))
    transport = EndpointTransport(path, clock=lambda: 3600.0 * next(hours))
    with (
        serving(path, endless()),
        pytest.raises(httpx2.ReadTimeout, match="did not end in time"),
    ):
        read(transport, read=4 * 3600)


@pytest.mark.parametrize("wire", MODELS)
def test_no_key_and_no_proxy_of_the_environment_is_used(tmp_path, monkeypatch, wire):
    with (
        ScriptedModel([Say("hello")]) as scripted,
        endpoint_to(scripted, tmp_path / "log", model=MODELS[wire]) as endpoint,
    ):
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.setenv(name, "sk-canary-of-the-environment")
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        with open_client(endpoint) as client:
            assert answer_of(client).text == "hello"
        (asked,) = scripted.asked
    assert "canary-of-the-environment" not in str(asked.headers) + asked.raw.decode()
    assert asked.stream
    assert asked.wire is wire


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Fail(429), ModelErrorKind.RATE_LIMIT),
        (Fail(529), ModelErrorKind.OVERLOADED),
        (Fail(401), ModelErrorKind.AUTH),
        (Fail(404), ModelErrorKind.UNKNOWN_MODEL),
        (Fail(400, ModelErrorKind.CONTEXT_LENGTH), ModelErrorKind.CONTEXT_LENGTH),
        (Fail(500, after_chunks=1), ModelErrorKind.SERVER_ERROR),
        (Fail(529, after_chunks=1), ModelErrorKind.OVERLOADED),
    ],
    ids=str,
)
def test_each_failure_has_its_kind(clients, wire, answer, kind):
    with clients(wire, [answer]) as (client, _):
        error = failure_of(client)
    assert error.failure.kind is kind


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("answer", [Cut(), Reset(after_chunks=2), Reset()], ids=str)
def test_broken_connection_may_be_retried(clients, wire, answer):
    with clients(wire, [answer]) as (client, _):
        assert failure_of(client).may_retry


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("answer", [Hang(), Hang(after_chunks=3)], ids=str)
def test_silent_model_times_out(clients, wire, answer):
    with clients(wire, [answer]) as (client, _):
        assert failure_of(client, seconds=0.5).failure.kind is ModelErrorKind.TIMEOUT
