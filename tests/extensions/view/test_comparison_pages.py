import html
import re

import pytest

from agentbench.report.comparison import compare
from agentbench.report.formatting import statement
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.tasks.problem import TaskId
from tests.extensions.view.conftest import client_of
from tests.runs.records import configuration, failed, resolved
from tests.scoring.strategies import NOON

TASKS = tuple(TaskEntry(id=TaskId(name), folder=name, digest="d") for name in ("one", "two"))


def made(folder, name, *records, **more):
    store = RunStore.create(folder, configuration(run_id=name, **more))
    for record in records:
        place, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record, place)
    return store


def test_two_runs_are_told_with_difference_test_and_flips(client, shown):
    answer = client.get(f"/compare?first={shown.first}&second={shown.second}")
    text = html.unescape(answer.text)
    summaries = []
    for name in (shown.first, shown.second):
        reading = read_run(shown.folder / name)
        summaries.append([reading.summaries[number] for number in reading.latest()])
    told = compare(*summaries)
    result = statement(told.overall)
    for part in (result.difference, result.interval, result.verdict, result.test, result.power):
        assert part in text
    assert f"({len(told.gained)})" in text
    for flip in (*told.gained, *told.lost):
        for name in (shown.first, shown.second):
            assert f'href="/runs/{name}/attempts/{flip.task_id}/' in text


def test_every_link_leads_to_a_page(client, shown):
    text = client.get(f"/compare?first={shown.first}&second={shown.second}").text
    links = set(re.findall(r'href="(/[^"]*)"', text))
    assert len(links) > 10
    for link in links:
        assert client.get(link.replace("&amp;", "&")).status_code == 200, link


def test_tasks_that_differ_come_first_and_the_others_are_folded(tmp_path):
    two = {"task_id": TaskId("two")}
    made(tmp_path, "old", resolved(), failed(**two), tasks=TASKS)
    made(tmp_path, "new", resolved(), resolved(**two), tasks=TASKS)
    text = client_of(tmp_path).get("/compare?first=old&second=new").text
    gained, same = text.split("<details>")
    assert 'id="gained"' in gained
    assert "✗</span> failed:" in gained
    assert "TESTS_FAILED" in gained
    assert "The same in both runs (1)" in same
    assert [page.count('href="/runs/old/attempts/one/1"') for page in (gained, same)] == [0, 1]


def test_without_two_runs_there_is_a_form_to_choose_them(client, shown):
    for query in ("", f"?second={shown.second}", "?first="):
        text = client.get(f"/compare{query}").text
        assert f'<option value="{shown.first}">' in text
        assert "Difference" not in text
    assert f'value="{shown.second}" required' in client.get(f"/compare?second={shown.second}").text


def test_a_run_that_is_not_there_is_told(client, shown):
    assert client.get(f"/compare?first={shown.first}&second=none").status_code == 404
    assert client.get(f"/compare?first={shown.first}&second=..").status_code == 404


def test_runs_that_share_no_task_are_told_so(tmp_path):
    made(tmp_path, "one", resolved(task_id=TaskId("a")))
    made(tmp_path, "two", resolved(task_id=TaskId("b")))
    answer = client_of(tmp_path).get("/compare?first=one&second=two")
    assert answer.status_code == 200
    assert "nothing to compare" in answer.text


def test_tasks_of_one_run_alone_and_changed_ones_are_told(tmp_path):
    made(tmp_path, "one", resolved(), resolved(task_id=TaskId("only-one")))
    made(tmp_path, "two", failed(task_digest="other"), resolved(task_id=TaskId("only-two")))
    text = client_of(tmp_path).get("/compare?first=one&second=two").text
    assert "Only in the first run (1)" in text
    assert "Only in the second run (1)" in text
    assert "Changed tasks" in text
    assert "Not statistically significant (p = 1)" in text


def test_runs_of_the_same_tasks_are_ranked_with_what_explains_their_rates(tmp_path):
    two = {"task_id": TaskId("two")}
    made(tmp_path, "worse", resolved(), failed(**two), tasks=TASKS, agent="a")
    made(tmp_path, "better", resolved(), resolved(**two), tasks=TASKS, agent="b")
    text = client_of(tmp_path).get("/leaderboard").text
    assert "2 runs of the same 2 tasks" in text
    assert text.index('id="ranked-better"') < text.index('id="ranked-worse"')
    row = text[text.index('id="ranked-worse"') : text.index("</tbody>")]
    for part in ("1/2", "50.0 %", "95 % CI", "no model", "2.0 s", "per&nbsp;resolved"):
        assert part in row
    assert '1 <a href="/runs/worse?reason=TESTS_FAILED"' in row
    assert "No significant difference between runs that share a letter" in text
    checked = re.findall(r'name="(\w+)" value="(\w+)" [^>]* checked', text)
    assert checked == [("first", "better"), ("second", "worse")]


def test_each_cell_of_the_matrix_says_its_verdict_and_leads_to_its_attempts(tmp_path):
    two = {"task_id": TaskId("two")}
    made(tmp_path, "once", resolved(), failed(**two), tasks=TASKS)
    attempts = [make(attempt=n, **two) for n, make in enumerate((failed, resolved, failed), 1)]
    made(tmp_path, "often", resolved(), *attempts, tasks=TASKS, attempts=3)
    client = client_of(tmp_path)
    text = client.get("/leaderboard").text
    matrix = text[text.index('class="matrix"') :]
    found = {
        address: re.sub(r"<[^>]*>", "", cell).split()
        for address, cell in re.findall(
            r'<a class="verdict-cell \w+" href="([^"]*)">(.*?)</td>', matrix
        )
    }
    assert found == {
        "/runs/once/attempts/one/1": ["✓", "resolved"],
        "/runs/once/attempts/two/1": ["✗", "failed", "TESTS_FAILED"],
        "/runs/often/attempts/one/1": ["✓", "resolved"],
        "/runs/often?task=two": ["◐", "1", "of", "3", "resolved", "TESTS_FAILED"],
    }
    assert all(client.get(address).status_code == 200 for address in found)
    assert "1\u20133 of 3 matching" in client.get("/runs/often?task=two").text


def test_runs_of_other_tasks_or_contents_have_a_leaderboard_of_their_own(tmp_path):
    made(tmp_path, "alone", resolved(), started_at=NOON.replace(year=2027))
    changed = (TASKS[0], TASKS[1].replace(digest="e"))
    two = {"task_id": TaskId("two")}
    for name, tasks in (("p", TASKS), ("q", TASKS), ("changed", changed)):
        made(tmp_path, name, resolved(), resolved(**two), tasks=tasks)
    client = client_of(tmp_path)
    text = client.get("/leaderboard").text  # of the set with several runs, though an older one
    addresses = re.findall(r'href="(/leaderboard\?tasks=\w+)"', text)
    ranked = [set(re.findall(r'id="ranked-(\w+)"', client.get(each).text)) for each in addresses]
    assert ranked == [{"p", "q"}, {"alone"}, {"changed"}]
    assert 'id="ranked-p"' in text
    assert 'type="radio"' not in client.get(addresses[1]).text
    refused = client.get("/leaderboard?tasks=other")
    assert refused.status_code == 400
    assert f"expected one of {addresses[0].partition('=')[2]}" in refused.text


def test_runs_that_cannot_be_ranked_are_named_with_the_reason(tmp_path):
    two = {"task_id": TaskId("two")}
    made(tmp_path, "whole", resolved(), resolved(**two), tasks=TASKS)
    made(tmp_path, "begun", resolved(), tasks=TASKS)
    made(tmp_path, "again", resolved(), resolved(**two), tasks=TASKS, rerun_of="whole")
    newer = made(tmp_path, "newer", tasks=TASKS)
    (newer.folder / "attempts.jsonl").write_text('{"schema_version": 9}\n')
    client = client_of(tmp_path)
    text = client.get("/leaderboard").text
    assert re.findall(r'id="ranked-(\w+)"', text) == ["whole"]
    told = dict(re.findall(r'<li><a href="/runs/(\w+)">\1</a> (.*)</li>', text))
    assert told["begun"] == "has attempts at 1 of 2 tasks"
    assert told["again"] == "repeats only the failed attempts of another run"
    assert told["newer"].startswith("cannot be read: ")
    (tmp_path / "whole").rename(tmp_path.parent / "gone")
    assert "No run has an attempt at each of these tasks yet." in client.get("/leaderboard").text


def test_only_the_newest_runs_are_ranked(tmp_path):
    for number in range(22):
        began = NOON.replace(year=2026 + number)
        made(tmp_path, f"run{number}", resolved(), started_at=began)
    text = client_of(tmp_path).get("/leaderboard").text
    assert text.count('id="ranked-') == 20
    assert re.findall(r"run(\d+)</a> is older than the newest 20 ranked runs", text) == ["1", "0"]


@pytest.mark.parametrize("damage", ["{", None])
def test_a_folder_without_a_run_to_rank_says_what_makes_one(tmp_path, damage):
    if damage:
        (made(tmp_path, "one").folder / "run.json").write_text(damage)
    answer = client_of(tmp_path).get("/leaderboard")
    assert answer.status_code == 200
    assert "agentbench run" in answer.text


def test_every_link_of_the_leaderboard_leads_to_a_page(client):
    text = client.get("/leaderboard").text
    links = set(re.findall(r'href="(/[^"]*)"', text))
    assert len(links) > 50
    for link in links:
        assert client.get(html.unescape(link)).status_code == 200, link
