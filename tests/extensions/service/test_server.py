"""The end of a service: requests that wait get their answers, and its log has no traceback."""

import signal
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from tests.extensions.service.conftest import StartService
from tests.judge.conftest import SLOW
from tests.patience import HANG_SECONDS, wait_until

pytestmark = pytest.mark.full

WAITING = ("/v1/jobs?group=nobody&wait=60", "/v1/jobs/{}?wait=60", "/v1/jobs/{}/events")
LAST_LINE = "finishing what runs, for at most {} s (Ctrl-C: now)"


def waiting_requests(stack, service, job_id):
    """Requests that the service has received, and not answered completely."""
    address = urlsplit(service.url)
    sockets = []
    for path in WAITING:
        connection = socket.create_connection((address.hostname, address.port), HANG_SECONDS)
        sockets.append(stack.enter_context(connection))
        request = f"GET {path.format(job_id)} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n"
        connection.sendall(request.encode())
    assert service.request("GET", "/v1/status").is_success  # was sent after them
    return sockets


def answer_of(connection):
    """All that comes until the service closes a connection."""
    text = b""
    while more := connection.recv(65_536):
        text += more
    return text.decode()


@pytest.mark.parametrize("drain", [0, 1])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_requests_that_wait_are_answered_at_the_end(start_service: StartService, drain, number):
    service = start_service("--drain", drain)
    job_id = service.submit(SLOW, task="slow")["id"]
    wait_until(lambda: service.job(job_id)["state"] == "running")
    with ExitStack() as stack:
        sockets = waiting_requests(stack, service, job_id)
        service.process.send_signal(number)
        ended, job, events = map(answer_of, sockets)
        assert service.process.wait(HANG_SECONDS) == 0
    assert ended.startswith("HTTP/1.1 200 ")
    assert ended.endswith('{"jobs":[],"last":0}')
    assert job.startswith("HTTP/1.1 200 ")
    assert f'"id":"{job_id}"' in job
    assert events.endswith("\r\n0\r\n\r\n"), "the stream is complete"
    first, *others = service.log.splitlines()
    assert first.startswith("serving 2 tasks on ")
    assert others == [LAST_LINE.format(drain)]


def test_a_second_signal_leaves_no_traceback(start_service: StartService):
    service = start_service("--drain", 600)
    job_id = service.submit(SLOW, task="slow")["id"]
    wait_until(lambda: service.job(job_id)["state"] == "running")
    with ExitStack() as stack:
        waiting_requests(stack, service, job_id)
        service.process.send_signal(signal.SIGINT)
        wait_until(lambda: "finishing" in service.log)
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(HANG_SECONDS) == 130
    assert service.log.splitlines()[1:] == [LAST_LINE.format(600)]
