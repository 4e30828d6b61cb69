"""The part of the leaderboard and of a comparison about what agents did."""

import html
import json
import re

import pytest

from agentbench.core import extensions
from agentbench.core.extensions import Slot, offers
from agentbench.report.formatting import p_value
from agentbench.runs.store.store import RunStore
from tests.cli.conftest import call
from tests.extensions.view.conftest import client_of
from tests.extensions.view.pages import Parsed
from tests.runs.records import configuration, failed, resolved

has_behaviour = pytest.mark.skipif(
    "tags" not in offers(Slot.BEHAVIOUR), reason="the extension behaviour is deleted"
)


@pytest.fixture
def without_extensions(tmp_path, monkeypatch):
    """Tables without rows of extensions."""
    monkeypatch.setattr(extensions, "_FOLDER", tmp_path / "nothing")
    offers.cache_clear()
    yield
    offers.cache_clear()


def rows_of(text):
    """The cells of the table in the section."""
    found = re.search(r'<section id="behaviour".*?</section>', text, re.DOTALL)
    return [row for row in Parsed(found[0]).rows if row]


def small_runs(folder, *names):
    for name in names:
        store = RunStore.create(folder, configuration(run_id=name))
        for record in (resolved(), failed(attempt=2)):
            place, _ = store.attempt_folder(record.task_id, record.attempt)
            store.append(record, place)
    return client_of(folder)


@has_behaviour
def test_leaderboard_counts_behaviours_only_if_asked(tmp_path):
    client = small_runs(tmp_path, "one")
    text = client.get("/leaderboard").text
    (link,) = re.findall(r'href="(/leaderboard\?[^"]*behaviour=1)#behaviour"', text)
    answer = "No attempt has a behaviour that can be known."
    assert answer not in text
    assert answer in client.get(html.unescape(link)).text
    refused = client.get("/leaderboard?behaviour=yes")
    assert refused.status_code == 400
    assert "expected 1" in refused.text


@has_behaviour
def test_each_request_reads_some_attempts_until_all_are_counted(shown):
    client = client_of(shown.folder)
    address = "/leaderboard?behaviour=1"
    text = client.get(address).text
    assert "Read 100 of 240 attempts." in text
    assert 'data-live="yes"' in text
    (parts,) = re.findall(r'data-parts="([^"]*)"', text)
    (further,) = re.findall(r'href="([^"#]*)#behaviour">Go on', text)
    assert "Read 200 of 240 attempts." in client.get(html.unescape(parts)).text
    text = client.get(html.unescape(further)).text
    assert 'data-live="no"' in text
    assert client.get(html.unescape(parts)).text.strip() in text
    # As the command counts them, in the order of the leaderboard.
    runs = re.findall(r'id="ranked-([^"]+)"', text)
    documents = [
        json.loads(call("behaviour", shown.folder / each, "--json").stdout) for each in runs
    ]
    counted = [{row["tag"]: row for row in each["runs"][0]["counts"]} for each in documents]
    _, *rows = rows_of(text)
    tags = {tag for own in counted for tag in own}
    by_tag = {tag: row[1:] for tag in tags for row in rows if row[0].startswith(tag)}
    assert (by_tag.keys(), len(rows)) == (tags, len(tags))
    for number, own in enumerate(counted):
        for tag, row in own.items():
            assert f"{row['count']}/{row['known']} " in by_tag[tag][number]
            interval = f"CI {100 * row['low']:.1f}\u2013{100 * row['high']:.1f}"
            assert interval in by_tag[tag][number]


@has_behaviour
def test_comparison_says_which_behaviours_differ_as_the_command_does(shown):
    client = client_of(shown.folder)
    address = f"/compare?first={shown.first}&second={shown.second}"
    plain = client.get(address).text
    (link,) = re.findall(r'href="([^"#]*behaviour=1)#behaviour"', plain)
    for _ in range(3):  # 240 attempts
        text = client.get(html.unescape(link)).text
    _, *rows = rows_of(text)
    folders = [shown.folder / name for name in (shown.first, shown.second)]
    document = json.loads(call("behaviour", *folders, "--json").stdout)
    assert rows == [
        [
            row["tag"],
            f"{100 * row['first']:.1f} %",
            f"{100 * row['second']:.1f} %",
            str(row["tasks"]),
            p_value(row["p_value"]),
            "differs" if row["p_value"] < 0.05 else "may be chance",
        ]
        for row in document["differences"]
    ]
    assert rows


@has_behaviour
def test_attempts_that_cannot_be_read_are_counted_as_such(tmp_path):
    client = small_runs(tmp_path, "one")
    assert "could not be read" not in client.get("/leaderboard?behaviour=1").text
    client = small_runs(tmp_path, "two")
    client.get("/compare?first=one&second=two")  # both are read
    (tmp_path / "two" / "run.json").write_text("{")
    text = client.get("/compare?first=one&second=two&behaviour=1").text
    assert "2 attempts could not be read." in text


@has_behaviour
def test_part_about_runs_that_do_not_exist_is_not_found(tmp_path):
    client = small_runs(tmp_path, "one")
    assert client.get("/compare/behaviour?first=one&second=two").status_code == 404
    assert client.get("/compare/behaviour").status_code == 404
    assert client.get("/leaderboard/behaviour?tasks=x").status_code == 400
    assert client_of(tmp_path / "empty").get("/leaderboard/behaviour").status_code == 404


@pytest.mark.usefixtures("without_extensions")
def test_without_the_extension_pages_have_no_such_part(tmp_path):
    client = small_runs(tmp_path, "one", "two")
    for page in ("/leaderboard?", "/compare?first=one&second=two&"):
        answer = client.get(f"{page}behaviour=1")
        assert answer.status_code == 200
        assert 'id="behaviour"' not in answer.text
    assert client.get("/leaderboard/behaviour").status_code == 404
    assert client.get("/compare/behaviour?first=one&second=two").status_code == 404
