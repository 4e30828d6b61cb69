"""Answers without end, over a real socket and with no gateway to stop them."""

import socket
from contextlib import contextmanager, suppress
from threading import Thread

import httpx2
import pytest

from agentbench.models.sdk_client import MAX_ANSWER_BYTES, EndpointTransport

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


def test_an_answer_comes_through_as_it_is(path):
    with serving(path, [HEAD, CHUNK, b"0\r\n\r\n"]):
        assert read(EndpointTransport(path)) == b"x" * 0x10000


def test_an_answer_that_never_ends_is_cut_at_its_size(path):
    with (
        serving(path, endless()),
        pytest.raises(httpx2.RemoteProtocolError, match=f"has more than {MAX_ANSWER_BYTES} bytes"),
    ):
        read(EndpointTransport(path))


def test_an_answer_that_trickles_for_ever_is_cut_at_its_deadline(path):
    hours = iter(range(1000))
    transport = EndpointTransport(path, clock=lambda: 3600.0 * next(hours))
    with (
        serving(path, endless()),
        pytest.raises(httpx2.ReadTimeout, match="did not end in time"),
    ):
        read(transport, read=4 * 3600)
