import re

import pytest

from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.tasks.problem import TaskId
from benchmarks.synthetic_run import Wanted, write_run
from tests.extensions.view.conftest import client_of
from tests.extensions.view.test_run_cache import begun
from tests.runs.records import configuration, failed, lost, resolved
from tests.scoring.strategies import NOON


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


def summary_of(shown):
    reading = read_run(shown.folder / shown.first)
    return ResultSummary.of(reading.summaries[number] for number in reading.latest())


def rows(text):
    return re.findall(r'<tr id="at-([^"]*)', text)


def test_a_run_is_told_with_both_denominators_reasons_and_faults(client, shown):
    text = client.get(f"/runs/{shown.first}").text
    summary = summary_of(shown)
    for rate in (summary.overall, summary.judged):
        assert f"{rate.resolved}/{rate.total}" in text
        assert f"{100 * rate.interval.low:.1f}\u2013{100 * rate.interval.high:.1f}" in text
    assert f"Excluding task and infrastructure errors ({summary.excluded})" in text
    for reason, count in summary.reasons:
        assert re.search(
            rf'reason={reason}"[^>]*>{reason}</a></th><td class="number">{count}<', text
        )
    for fault, count in summary.faults:
        assert re.search(rf'fault={fault}">{fault}</a></th><td class="number">{count}<', text)
    for rates in (*summary.passes, *summary.judged_passes):
        assert f">{100 * rates.any_of_k:.1f} %<" in text
        assert f">{100 * rates.all_of_k:.1f} %<" in text
    assert f"${summary.cost_usd:.2f}" in text


def test_attempts_are_shown_a_page_at_a_time(client, shown):
    first = client.get(f"/runs/{shown.first}").text
    second = client.get(f"/runs/{shown.first}?page=2").text
    assert "1\u2013100 of 120" in first
    assert "101\u2013120 of 120" in second
    assert (len(rows(first)), len(rows(second))) == (100, 20)
    assert not set(rows(first)) & set(rows(second))


def test_the_filter_is_in_the_address_and_in_the_form(client, shown):
    text = client.get(f"/runs/{shown.first}?q=cache&verdict=failed&sort=-seconds").text
    assert rows(text)
    assert all(place.startswith("cache") for place in rows(text))
    assert 'value="cache"' in text
    assert "<option selected>failed" in text
    assert 'aria-sort="descending"' in text
    assert 'name="sort" value="-seconds"' in text
    seconds = re.findall(r'<td class="number">([^<]* s)</td>', text)
    assert len(seconds) > 1


def test_parts_are_the_same_rows_without_the_rest(client, shown):
    query = "?reason=TESTS_FAILED"
    whole = client.get(f"/runs/{shown.first}{query}").text
    parts = client.get(f"/runs/{shown.first}/parts{query}").text
    assert rows(whole) == rows(parts)
    assert f'data-parts="/runs/{shown.first}/parts{query}"' in parts
    assert "<html" not in parts
    assert "<form" not in parts


def test_a_filter_that_lets_nothing_through_says_so(client, shown):
    text = client.get(f"/runs/{shown.first}?q=nothing-like-it").text
    assert "No attempts matching the filter" in text


def test_every_try_can_be_shown(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    for retry, make in ((None, lost), (1, resolved)):
        folder, _ = store.attempt_folder(TaskId("one"), 1)
        store.append(make(retry_of=retry), folder)
    client = client_of(tmp_path)
    address = f"/runs/{store.folder.name}"
    assert len(rows(client.get(address).text)) == 1
    text = client.get(f"{address}?tries=all").text
    assert len(rows(text)) == 2
    assert 'href="/runs/20260102T120000-abcd/attempts/one/1.retry-1"' in text
    assert "retry 1" in text


def test_a_run_that_goes_on_shows_what_goes_on(tmp_path):
    store = RunStore.create(tmp_path, configuration(attempts=4))
    folder, _ = store.attempt_folder(TaskId("one"), 1)
    store.append(failed(), folder)
    log = begun(store.folder, "one/2", "agent_run")
    stages = store.folder / "attempts" / "one" / "2" / "stages"
    stages.mkdir()
    (stages / "agent_run.log").write_text("[    0.100 stdout] <b>looking</b>\n")
    client = client_of(tmp_path)
    address = f"/runs/{store.folder.name}"
    with run_lock(store.folder):
        text = client.get(address).text
        assert "1 of 4 attempts done, 0 resolved" in text
        assert "&lt;b&gt;looking&lt;/b&gt;" in text
        assert "agent run" in text
        assert 'data-live="yes"' in text
        assert f"{address}/attempts/one/2" in text
        page = client.get(f"{address}/attempts/one/2")
        assert "running: agent run" in page.text
        assert 'data-live="yes"' in page.text
    assert log is not None
    over = client.get(f"{address}/parts").text
    assert 'data-live="no"' in over
    assert "looking" not in over
    assert "was interrupted and left no record" in client.get(f"{address}/attempts/one/2").text


def test_a_run_without_attempts_is_a_page_too(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    text = client_of(tmp_path).get(f"/runs/{store.folder.name}").text
    assert "0 of 1 attempts done" in text


def test_a_run_without_a_model_has_no_cost(tmp_path):
    runs = [
        write_run(Wanted(runs_dir=tmp_path, tasks=4, agent=agent, model=None)).name
        for agent in ("oracle", "noop")
    ]
    client = client_of(tmp_path)
    for address in (f"/runs/{runs[0]}", f"/compare?first={runs[0]}&second={runs[1]}"):
        text = client.get(address).text
        assert "no model" in text
        assert "$" not in text
