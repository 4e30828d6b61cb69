import pytest

from agentbench.runs.store import reading
from agentbench.runs.store.reading import copies_without_lines, read_copy, read_run, tasks_of
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import configuration, failed, resolved


@pytest.fixture
def store(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    for record in (failed(), resolved(attempt=2), resolved(task_id="two")):
        folder, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record, folder)
    return store


def test_no_file_is_opened_where_lines_and_folders_agree(store, monkeypatch):
    monkeypatch.setattr(reading, "read_copy", None)
    summaries = read_run(store.folder).summaries
    assert list(copies_without_lines(store.folder / "attempts", summaries)) == []


def test_a_copy_is_found_where_a_folder_has_no_line(store):
    summaries = read_run(store.folder).summaries
    attempts = store.folder / "attempts"
    (copy,) = copies_without_lines(attempts, summaries[:1] + summaries[2:])
    assert copy.path == attempts / "one/2/record.json"
    assert copy.summary == summaries[1]
    assert copy.record() == resolved(attempt=2)
    found = copies_without_lines(attempts, [])
    assert [copy.summary.folder_name for copy in found] == ["one/1", "one/2", "two/1"]


def test_a_made_up_task_leads_nowhere(store):
    (store.folder / "attempts" / "note").write_text("x")
    told = [AttemptSummary.of(failed(task_id=name)) for name in ("../..", "note", "nothing")]
    found = tasks_of(store.folder / "attempts", told)
    assert [task.path.name for task in found] == ["one", "two"]


def test_what_is_not_to_be_relied_on_is_said(store):
    path = store.folder / "attempts/one/1/record.json"
    path.write_text(failed().model_dump_json(indent=1))
    assert read_copy(path) == "has no digest, so it cannot be checked"
    path.unlink()
    assert read_copy(path) == "cannot be read (No such file or directory)"
    path.mkdir()
    assert read_copy(path) == "is not a regular file"
