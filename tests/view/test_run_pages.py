import pytest

from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.store import RunStore, run_lock
from tests.runs.records import configuration, failed, lost, resolved
from tests.scoring.strategies import NOON
from tests.view.conftest import client_of


def made(folder, name, *records, **more):
    store = RunStore.create(folder, configuration(run_id=name, attempts=9, **more))
    for attempt, make in enumerate(records, start=1):
        record = make(attempt=attempt)
        place, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record, place)
    return store


def test_runs_are_listed_the_newest_first_with_both_denominators(tmp_path):
    made(tmp_path, "z-older", resolved, failed, lost, ending=RunEnding.FINISHED)
    made(tmp_path, "a-newer", started_at=NOON.replace(year=2027), model="some/model")
    text = client_of(tmp_path).get("/").text
    assert text.index("a-newer") < text.index("z-older")
    row = text[text.index('id="run-z-older"') :]
    assert "1/3" in row
    assert "1/2" in row
    assert "33.3 %" in row
    assert row.count("95 % CI") == 2
    assert "3 of 9" in row
    assert "finished" in row
    assert "some/model" in text
    assert "2027-01-02 12:00:00 UTC" in text


@pytest.mark.parametrize(
    ("name", "word"), [("finished", "finished"), ("interrupted", "interrupted")]
)
def test_how_a_run_ended_is_told(tmp_path, name, word):
    made(tmp_path, "one", ending=RunEnding(name))
    assert f'class="badge {name}">{word}<' in client_of(tmp_path).get("/").text


def test_a_run_that_goes_on_is_marked_and_followed(tmp_path):
    store = made(tmp_path, "one", resolved)
    client = client_of(tmp_path)
    assert 'class="badge cut off">cut off<' in client.get("/").text
    with run_lock(store.folder):
        text = client.get("/parts").text
        assert 'data-live="yes"' in text
        assert 'class="badge live">live<' in text
    assert 'data-live="no"' in client.get("/parts").text


def test_many_runs_are_listed_a_page_at_a_time(tmp_path):
    for number in range(53):
        made(tmp_path, f"run-{number:02}")
    client = client_of(tmp_path)
    first, second = client.get("/").text, client.get("/?page=2").text
    assert "53 runs in" in first
    assert (first.count('id="run-'), second.count('id="run-')) == (50, 3)
    assert 'href="/?page=2"' in first
    assert 'href="/?page=1"' in second
    assert client.get("/?page=99").text.count('id="run-') == 3


def test_an_empty_folder_says_what_makes_a_run(tmp_path):
    assert "agentbench run" in client_of(tmp_path).get("/").text
