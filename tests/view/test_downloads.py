"""The files of a run, as they are."""

import json

import pytest

from agentbench.view.attempt_files import CONTENT_TYPES


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
