import json

import pytest

from agentbench.extensions.view.attempt_files import CONTENT_TYPES, read_log_excerpt, read_tail
from agentbench.extensions.view.runs_folder import RunsFolder


def log(folder, content):
    (folder / "a.log").write_bytes(content)
    return RunsFolder(folder), folder.resolve() / "a.log"


def test_a_short_log_is_shown_whole(tmp_path):
    told = read_log_excerpt(*log(tmp_path, b"one\ntwo\xff\n"))
    assert (told.head, told.left_out, told.tail) == ("one\ntwo\ufffd\n", 0, "")


def test_a_long_log_is_shown_from_both_ends(tmp_path):
    told = read_log_excerpt(*log(tmp_path, b"first\n" + b"x" * 100_000 + b"\nlast\n"))
    assert told.head.startswith("first\n")
    assert told.tail.endswith("\nlast\n")
    assert len(told.head) + told.left_out + len(told.tail) == told.size


def test_a_log_that_grows_is_shown_by_its_last_lines(tmp_path):
    lines = [f"line {number}" for number in range(1_000)]
    told = read_tail(*log(tmp_path, "\n".join(lines).encode())).splitlines()
    assert told == lines[-len(told) :]
    assert 1 < len(told) < 30


def test_one_line_without_an_end_is_shown_as_far_as_it_goes(tmp_path):
    assert len(read_tail(*log(tmp_path, b"x" * 50_000))) == 2_048


def test_no_log_is_nothing(tmp_path):
    folder, path = RunsFolder(tmp_path), tmp_path.resolve() / "no.log"
    assert read_log_excerpt(folder, path) is None
    assert read_tail(folder, path) == ""


def test_every_file_that_is_listed_can_be_had_as_it_is(client, shown):
    address = shown.address()
    page = client.get(address).text
    folder = shown.folder / shown.first / "attempts" / address.split("/attempts/")[1]
    listed = [name for name in CONTENT_TYPES if (folder / name).is_file()]
    assert {"record.json", "patch.diff", "agent/trajectory.json"} <= set(listed)
    for name in CONTENT_TYPES:
        answer = client.get(f"{address}/files/{name}")
        assert (name in listed) == (answer.status_code == 200)
        assert (f'href="{address}/files/{name}"' in page) == (name in listed)
        if name in listed:
            assert answer.content == (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("record.json", "application/json"),
        ("patch.diff", "text/plain; charset=utf-8"),
        ("stages/setup.log", "text/plain; charset=utf-8"),
        ("events.jsonl", "text/plain; charset=utf-8"),
    ],
)
def test_no_browser_takes_a_file_for_a_page(client, shown, name, kind):
    answer = client.get(f"{shown.address()}/files/{name}")
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].endswith("; sandbox")
    assert answer.headers["content-disposition"].startswith("inline; ")


def test_a_log_can_be_downloaded_whole(client, shown):
    answer = client.get(f"{shown.address()}/files/stages/final_test.log?download")
    assert answer.headers["content-disposition"] == 'attachment; filename="final_test.log"'
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_a_run_is_told_by_its_own_file(client, shown):
    told = client.get(f"/runs/{shown.first}/run.json")
    assert json.loads(told.content)["run_id"] == shown.first


def test_its_head_alone_can_be_asked_for(client, shown):
    answer = client.head(f"{shown.address()}/files/record.json")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > 100
