import html
import re

from agentbench.report.comparison import compare
from agentbench.report.formatting import statement
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.tasks.problem import TaskId
from tests.runs.records import configuration, failed, resolved
from tests.view.conftest import client_of


def made(folder, name, *records):
    store = RunStore.create(folder, configuration(run_id=name))
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
    said = statement(told.overall)
    for part in (said.difference, said.interval, said.verdict, said.test, said.power):
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
