"""Addresses: what there is, what there is not, and that nothing leads out of the folder."""

import os
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests.extensions.view.conftest import client_of

NOWHERE = [
    "/nothing",
    "/runs",
    "/runs/",
    "/runs/..",
    "/runs/../..",
    "/runs/%2e%2e",
    "/runs/%2e%2e%2f%2e%2e%2fetc",
    "/runs/%2fetc",
    "/runs/a%00b",
    "/runs/..%5c..%5cetc",
    "/runs/" + "x" * 5_000,
    "/runs/{first}/attempts",
    "/runs/{first}/attempts/..",
    "/runs/{first}/attempts/../1",
    "/runs/{first}/attempts/..%2f..%2f{second}/1",
    "/runs/{first}/attempts/nothing/1",
    "/runs/{first}/attempts/nothing/1/files/record.json",
    "{place}/files/",
    "{place}/files/nothing",
    "{place}/files/../record.json",
    "{place}/files/..%2f..%2f..%2f..%2frun.json",
    "{place}/files/%2fetc%2fpasswd",
    "{place}/files//etc/passwd",
    "{place}/files/stages/../record.json",
    "{place}/files/stages/nothing.log",
    "/static/",
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/..%2fapp.py",
    "/static//etc/passwd",
]


@pytest.mark.parametrize("address", NOWHERE)
def test_what_is_not_there_is_a_page_that_says_so(server, shown, address):
    path = address.format(first=shown.first, second=shown.second, place=shown.address())
    # Clients of the usual kind would put dots right before they ask.
    with closing(HTTPConnection(server.removeprefix("http://"), timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    assert answer.status == 404
    assert "<h1>Not found</h1>" in text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("address", ["/", "/runs/{first}", "/nothing", "/static/view.css"])
def test_nothing_can_be_changed(client, shown, method, address):
    answer = client.request(method, address.format(first=shown.first))
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "query", ["verdict=lost", "reason=LUCK", "fault=mine", "sort=-colour", "page=0", "page=x"]
)
def test_an_address_that_asks_for_what_there_is_not_is_told_so(client, shown, query):
    answer = client.get(f"/runs/{shown.first}?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.text
    assert "expected" in answer.text


def test_links_out_of_the_folder_lead_nowhere(shown, tmp_path):
    runs = tmp_path / "runs"
    inside = runs / "inside"
    attempt = inside / "attempts" / "task" / "1"
    attempt.mkdir(parents=True)
    (inside / "run.json").write_bytes((shown.folder / shown.first / "run.json").read_bytes())
    secret = tmp_path / "secret"
    secret.write_text("nobody reads this")
    (runs / "linked").symlink_to(shown.folder / shown.first)
    (inside / "attempts" / "linked").symlink_to(tmp_path)
    (inside / "attempts" / "task" / "2").symlink_to(tmp_path)
    (attempt / "patch.diff").symlink_to(secret)
    (attempt / "stages").symlink_to(tmp_path)
    (tmp_path / "setup.log").write_text("nor this")
    os.mkfifo(attempt / "final.json")
    (runs / "no-run").mkdir()
    (runs / "no-run" / "run.json").symlink_to(secret)
    client = client_of(runs)
    assert "linked" not in client.get("/").text
    for address in (
        "/runs/linked",
        "/runs/no-run",
        "/runs/no-run/run.json",
        "/runs/inside/attempts/linked/1",
        "/runs/inside/attempts/task/2",
        "/runs/inside/attempts/task/1/files/patch.diff",
        "/runs/inside/attempts/task/1/files/stages/setup.log",
        "/runs/inside/attempts/task/1/files/final.json",
    ):
        answer = client.get(address)
        assert answer.status_code == 404, address
        assert "nobody reads this" not in answer.text
        assert "nor this" not in answer.text
    assert client.get("/runs/inside/attempts/task/1").status_code == 200


def test_records_that_are_damaged_are_named_and_the_others_are_shown(shown, tmp_path):
    run = tmp_path / "damaged"
    run.mkdir()
    for name in ("run.json", "attempts.jsonl"):
        (run / name).write_bytes((shown.folder / shown.first / name).read_bytes())
    path = run / "attempts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"attempt":', b'"attempt":1', 1)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    client = client_of(tmp_path)
    page = client.get("/runs/damaged")
    assert page.status_code == 200
    assert "2 warnings" in page.text
    assert "attempts.jsonl:4: set aside" in page.text
    assert "2 warnings" in client.get("/").text
    (run / "run.json").write_text("{")
    assert client.get("/runs/damaged").status_code == 200
    assert client.get("/").status_code == 200


def test_a_run_of_a_newer_agentbench_is_told_as_such_and_hides_no_other(shown, tmp_path):
    run = tmp_path / "newer"
    run.mkdir()
    (run / "run.json").write_bytes((shown.folder / shown.first / "run.json").read_bytes())
    (run / "attempts.jsonl").write_text('{"schema_version": 99}\n')
    client = client_of(tmp_path)
    answer = client.get("/runs/newer")
    assert answer.status_code == 422
    assert "upgrade agentbench" in answer.text
    assert "upgrade agentbench" in client.get("/").text


def test_a_record_that_changes_while_it_is_looked_at_is_told(shown, tmp_path):
    run = tmp_path / "changed"
    run.mkdir()
    for name in ("run.json", "attempts.jsonl"):
        (run / name).write_bytes((shown.folder / shown.first / name).read_bytes())
    client = client_of(tmp_path)
    client.get("/runs/changed")
    path = run / "attempts.jsonl"
    told = path.stat()
    path.write_bytes(b"x" * told.st_size)
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))  # as if nothing had happened
    answer = client.get(f"/runs/changed/attempts/{shown.place(lambda _told: True)}")
    assert answer.status_code == 404
    assert "cannot be read" in answer.text
