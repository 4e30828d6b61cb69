"""Attacks on a running service: each is refused in the form of RFC 9457, and it still answers."""

import io
import json
import re
import socket
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.extensions.service.conftest import StartService
from tests.extensions.service.running import JSON, ServiceProcess, serving
from tests.judge.conftest import FIX, SLOW
from tests.patience import HANG_SECONDS, wait_until

pytestmark = pytest.mark.full

TAR = {"Content-Type": "application/x-tar"}
Refused = Callable[..., dict]


@pytest.fixture(scope="module")
def service(tasks_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A service with small limits."""
    folder = tmp_path_factory.mktemp("service")
    with serving(tasks_folder, folder, "--max-body", 1, token="secret") as running:
        yield running


@pytest.fixture(scope="module")
def tokenless(tasks_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A service on loopback that needs no token."""
    with serving(tasks_folder, tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def refused(service: ServiceProcess) -> Iterator[Refused]:
    """Makes a request that must be refused; afterwards the service must answer."""

    def request(method: str, path: str, status: int, kind: str, **more: object) -> dict:
        """The problem in the answer."""
        answer = service.request(method, path, **more)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        problem = answer.json()
        assert (answer.status_code, problem["status"]) == (status, status), problem
        assert problem["type"] == f"/problems/{kind}", problem
        assert problem["title"]
        assert len(answer.content) < 10_000
        described = service.request("GET", problem["type"]).json()
        assert described["status"] == status
        return problem

    yield request
    assert service.request("GET", "/v1/status").status_code == 200


def routes(service: ServiceProcess) -> list[tuple[str, str]]:
    paths = service.request("GET", "/openapi.json").json()["paths"]
    filled = {path: re.sub(r"\{\w+\}", "x", path) for path in paths}
    return [(method.upper(), filled[path]) for path in paths for method in paths[path]]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic secret"},
        {"Authorization": "Bearer secre\xe9".encode("latin-1")},
        {"Authorization": "secret", "Cookie": "token=secret"},
    ],
    ids=["empty", "wrong", "no token", "basic", "not ascii", "cookie"],
)
def test_nothing_is_answered_without_the_token(
    service: ServiceProcess, headers: dict[str, str]
) -> None:
    found = [
        *routes(service),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/x?token=secret"),
    ]
    assert len(found) > 20
    for method, path in found:
        answer = service.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthorized"), path
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"Host": "evil.example"}, 421, "wrong-host"),
        ({"Host": "evil.example:80@127.0.0.1"}, 421, "wrong-host"),
        ({"Origin": "http://evil.example"}, 403, "foreign-origin"),
        ({"Origin": "null"}, 403, "foreign-origin"),
    ],
    ids=["rebinding", "user info", "other site", "no site"],
)
def test_a_web_page_cannot_use_a_service_without_a_token(
    tokenless: ServiceProcess, headers: dict[str, str], status: int, kind: str
) -> None:
    answer = tokenless.request("GET", "/v1/status", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
    own = {"Origin": tokenless.url}
    assert tokenless.request("GET", "/v1/status", headers=own).status_code == 200


def test_a_service_with_a_token_may_have_any_name(service: ServiceProcess) -> None:
    headers = {"Host": "judge.example", "Origin": "https://judge.example"}
    assert service.request("GET", "/v1/status", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/jobs/%2e%2e/%2e%2e/record",
        "/v1/jobs/../../etc/passwd",
        "/problems/..%2f..%2fetc",
        "//etc/passwd",
        "/v1/tasks/..%2fsmall",
        "/v1/jobs/%00/record",
        "/v1/jobs/'; DROP TABLE jobs; --",
    ],
)
def test_paths_lead_nowhere_else(service: ServiceProcess, path: str) -> None:
    answer = service.request("GET", path)
    assert answer.status_code == 404
    assert answer.json()["type"].startswith("/problems/")
    assert "root:" not in answer.text


@pytest.mark.parametrize("task", ["../small", "/etc", "tasks/small", "", "x" * 100_000, "a\x00b"])
def test_only_the_tasks_of_the_service_can_be_named(refused: Refused, task: str) -> None:
    refused("POST", "/v1/jobs", 404, "unknown-task", json={"task": task, "patch": FIX})
    refused("POST", "/v1/sessions", 404, "unknown-task", json={"task": task})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"task": "small"}',
        b'{"task": "small", "patch": 3}',
        b'{"task": "small", "patch": "", "patch_base64": ""}',
        b'{"task": "small", "patch_base64": "a"}',
        b'{"task": "small", "patch": "", "priority": 1000}',
        b'{"task": "small", "patch": "", "deadline": -1}',
        b'{"task": "small", "patch": "", "deadline": 1e999}',
        b'{"task": "small", "patch": "", "group": "../x"}',
        b'{"task": "small", "patch": "", "tree": "/etc"}',
        b'{"task": "small", "patch": "\xff"}',
        b"[" * 200_000,
        b'{"task": "small", "patch": "", "x": ' + b'{"a":' * 100_000,
    ],
    ids=lambda body: body[:50].decode("latin-1"),
)
def test_wrong_bodies_are_refused(refused: Refused, body: bytes) -> None:
    problem = refused("POST", "/v1/jobs", 422, "invalid-request", content=body, headers=JSON)
    assert problem["detail"].startswith(("body", "the body is not JSON"))


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_a_web_page_is_no_request(service: ServiceProcess, kind: str) -> None:
    body = json.dumps({"task": "small", "patch": FIX}).encode()
    answer = service.request("POST", "/v1/jobs", content=body, headers={"Content-Type": kind})
    assert answer.status_code in {415, 422}


def test_a_giant_body_is_refused_before_it_is_read(service: ServiceProcess) -> None:
    with connect(service) as connection:
        connection.sendall(head(service, "POST /v1/jobs", f"Content-Length: {10**12}"))
        assert status_of(connection) == 413
    with connect(service) as connection:
        connection.sendall(head(service, "POST /v1/jobs", f"Content-Length: {'9' * 400}"))
        assert status_of(connection) in {400, 413}


def test_a_giant_body_without_a_length_is_refused(service: ServiceProcess) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connect(service) as connection:
        connection.sendall(head(service, "POST /v1/jobs", "Transfer-Encoding: chunked"))
        sent = 0
        try:
            while sent < 64 << 20:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass  # it stopped to read
        assert sent < 64 << 20
    assert service.request("GET", "/v1/status").status_code == 200


def test_a_body_just_below_the_limit_is_judged(service: ServiceProcess) -> None:
    padding = " " * ((1 << 20) - 2000)
    body = json.dumps({"task": "small", "patch": FIX}) + padding
    answer = service.request("POST", "/v1/jobs", content=body, headers=JSON)
    assert service.ended(answer.json()["id"])["verdict"]["reward"] == 1.0


def _tar(*members: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return buffer.getvalue()


def _member(name: str, **facts: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(member, key, value)
    return member


def _declared(size: int) -> bytes:
    """The head of a file that claims a size, without its content."""
    return _member("basket.py", size=size).tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024


def _sparse() -> bytes:
    """A file of a terabyte that is one hole, in the old GNU form."""
    head = bytearray(_member("basket.py", type=tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    head[386:398] = b"%011o\0" % (1 << 32)
    head[398:410] = b"%011o\0" % 0
    head[483:495] = b"%011o\0" % (1 << 32)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + b"\0" * 1024


@pytest.mark.parametrize(
    "content",
    [
        b"not a tar",
        _tar(_member("../outside", size=1)),
        _tar(_member("/etc/passwd", size=1)),
        _tar(_member("a/../../b", size=1)),
        _tar(_member("device", type=tarfile.CHRTYPE, devmajor=1, devminor=3)),
        _tar(_member("hard", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
        _tar(_member("folder", type=tarfile.SYMTYPE, linkname="/etc"), _member("folder/x", size=1)),
        _declared(1 << 40),
        _sparse(),
        _tar(_member("a", size=1))[:700],
        b"\x1f\x8b" + b"\0" * 2000,
    ],
    ids=[
        *("no tar", "parent", "absolute", "hidden parent", "device", "hard link", "below a link"),
        *("claims a terabyte", "sparse", "cut off", "gzip"),
    ],
)
def test_archives_that_attack_are_refused(refused: Refused, content: bytes) -> None:
    path = "/v1/jobs/tree?task=small"
    refused("POST", path, 422, "invalid-change", content=content, headers=TAR)


def test_a_compressed_archive_is_refused_without_unpacking_it(refused: Refused) -> None:
    path = "/v1/jobs/tree?task=small"
    for headers in (TAR | {"Content-Encoding": "gzip"}, {"Content-Type": "application/gzip"}):
        refused("POST", path, 415, "unsupported-type", content=b"\x1f\x8b", headers=headers)


def test_an_idle_connection_costs_nobody_an_answer(service: ServiceProcess) -> None:
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(connect(service))
        for _ in range(20):
            assert service.request("GET", "/v1/status").status_code == 200
        job = service.submit(FIX)
        assert service.ended(job["id"])["verdict"]["reward"] == 1.0


def test_heads_without_an_end_are_refused(service: ServiceProcess) -> None:
    with connect(service) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20))
            answer = connection.recv(100)
        except ConnectionError:
            answer = b""
        assert answer == b"" or b" 400 " in answer
    assert service.request("GET", "/v1/status").status_code == 200


def test_cancelling_and_judging_at_the_same_time_loses_nothing(service: ServiceProcess) -> None:
    ids = [service.submit(FIX, fresh=True)["id"] for _ in range(12)]

    def attack(job_id: str) -> dict:
        """Cancel a job from several sides while it is judged."""
        with ThreadPoolExecutor(3) as pool:
            calls = [("DELETE", ""), ("GET", "?wait=1"), ("DELETE", "")]
            answers = [
                pool.submit(service.request, method, f"/v1/jobs/{job_id}{query}")
                for method, query in calls
            ]
            assert {answer.result().status_code for answer in answers} == {200}
        return service.ended(job_id)

    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(attack, ids))
    assert {job["state"] for job in jobs} <= {"cancelled", "done"}
    for job in jobs:
        assert (job["verdict"] is not None) == (job["state"] == "done")
    wait_until(lambda: service.request("GET", "/v1/status").json()["running"] == 0)
    assert service.ended(service.submit(FIX, fresh=True)["id"])["verdict"]["reward"] == 1.0


def test_cancelling_and_scoring_a_session_at_the_same_time(service: ServiceProcess) -> None:
    opened = service.request("POST", "/v1/sessions", json={"task": "small"}).json()
    path = f"/v1/sessions/{opened['id']}"
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(service.request, "POST", f"{path}/run", json={"argv": ["sleep", "600"]}),
            pool.submit(service.request, "POST", f"{path}/score", json={}),
            pool.submit(service.request, "DELETE", path),
            pool.submit(service.request, "DELETE", path),
        ]
        answers = [call.result() for call in calls]
    assert all(answer.status_code in {200, 204, 404, 409} for answer in answers), answers
    assert service.request("GET", path).json()["type"] == "/problems/unknown-session"


def test_too_many_sessions_are_refused(start_service: StartService) -> None:
    service = start_service("--max-sessions", 1)
    first = service.request("POST", "/v1/sessions", json={"task": "small"}).json()
    refused = service.request("POST", "/v1/sessions", json={"task": "small"})
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-sessions")
    service.request("DELETE", f"/v1/sessions/{first['id']}")
    again = service.request("POST", "/v1/sessions", json={"task": "small"})
    assert again.status_code == 201


def test_a_session_that_nobody_uses_is_closed(start_service: StartService) -> None:
    service = start_service("--session-idle", 1)
    opened = service.request("POST", "/v1/sessions", json={"task": "small"}).json()
    wait_until(lambda: not service.request("GET", "/v1/status").json()["sessions"])
    path = f"/v1/sessions/{opened['id']}"
    assert service.request("GET", path).json()["type"] == "/problems/unknown-session"


def test_a_token_is_required_beyond_loopback(start_service: StartService) -> None:
    service = start_service("--host", "0.0.0.0")
    answer = httpx2.get(f"{service.url}/v1/status", timeout=HANG_SECONDS)
    assert answer.status_code == 401
    token = re.search(r"^token: (\S+)$", service.log, re.MULTILINE)[1]
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx2.get(f"{service.url}/v1/status", headers=headers, timeout=HANG_SECONDS)
    assert answer.status_code == 200


def test_a_token_of_the_environment_is_not_logged(service: ServiceProcess) -> None:
    assert "secret" not in service.log


def test_a_slow_attempt_does_not_keep_other_clients_waiting(service: ServiceProcess) -> None:
    slow = [service.submit(SLOW, task="slow", fresh=True)["id"] for _ in range(4)]
    wait_until(lambda: service.job(slow[0])["state"] == "running")
    with ThreadPoolExecutor(32) as pool:  # more long-polls than threads that judge
        polls = [
            pool.submit(service.request, "GET", f"/v1/jobs/{job_id}?wait=2") for job_id in slow * 8
        ]
        assert service.request("GET", "/v1/tasks").status_code == 200
        assert {poll.result().status_code for poll in polls} == {200}
    for job_id in slow:
        service.request("DELETE", f"/v1/jobs/{job_id}")


def connect(service: ServiceProcess) -> socket.socket:
    host, port = service.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=HANG_SECONDS)


def head(service: ServiceProcess, request: str, *lines: str) -> bytes:
    host = service.url.removeprefix("http://")
    common = (f"Host: {host}", "Authorization: Bearer secret", "Content-Type: application/json")
    return "\r\n".join([f"{request} HTTP/1.1", *common, *lines, "", ""]).encode()


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(100).split()[1])
