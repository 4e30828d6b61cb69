"""The server as a process: that it tells where it is, answers, and ends."""

import signal
import socket

import httpx2

from tests.extensions.view.server import serving
from tests.patience import HANG_SECONDS


def test_it_answers_as_soon_as_it_has_said_where(shown):
    with serving(shown.folder) as found:
        answer = httpx2.get(found.address, timeout=HANG_SECONDS)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert shown.first in answer.text


def test_it_ends_cleanly_though_somebody_is_connected(shown):
    for number in (signal.SIGINT, signal.SIGTERM):
        with serving(shown.folder) as found, httpx2.Client(timeout=HANG_SECONDS) as client:
            client.get(found.address)
            found.process.send_signal(number)
            assert found.process.wait(HANG_SECONDS) == 130
            assert found.process.stderr.read() == ""


def test_what_is_no_request_is_refused_and_the_server_stays_up(server):
    host, port = server.removeprefix("http://").split(":")
    for sent in (b"\x16\x03\x01\x02\x00nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        with socket.create_connection((host, int(port)), timeout=HANG_SECONDS) as connection:
            connection.sendall(sent)
            assert connection.recv(12) in {b"HTTP/1.1 400", b"HTTP/1.1 421"}
    assert httpx2.get(server, timeout=HANG_SECONDS).status_code == 200
