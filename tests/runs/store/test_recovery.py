from agentbench.runs.store.reading import read_run, unrecorded_attempts
from agentbench.runs.store.store import RunStore
from tests.runs.records import configuration, failed, resolved


def append(store, record):
    folder, retry = store.attempt_folder(record.task_id, record.attempt)
    store.append(record.model_copy(update={"retry_of": retry or None}), folder)
    return folder


def test_only_the_last_word_of_an_attempt_is_written_again(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    folders = [append(store, record) for record in (failed(), resolved(), failed(attempt=2))]
    lines = (store.folder / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (store.folder / "attempts.jsonl").write_bytes(lines[1])  # of the retry
    reading = read_run(store.folder)
    assert [kept.path.parent for kept in reading.adopted] == [folders[0], folders[2]]
    assert [kept.path.parent for kept in reading.last_words()] == [folders[2]]


def test_odd_folders_and_earlier_tries_are_no_attempts_that_were_cut_off(tmp_path):
    store = RunStore.create(tmp_path, configuration())
    store.attempt_folder(failed().task_id, 1)
    last = append(store, resolved())
    assert last.name == "1.retry-1"
    store.rescored_folder(resolved())
    (last.parent / "notes").mkdir()
    (last.parent / "1.retry-x").mkdir()
    assert list(unrecorded_attempts(store.folder, read_run(store.folder).summaries)) == []
    late, _ = store.attempt_folder(failed().task_id, 1)
    assert list(unrecorded_attempts(store.folder, read_run(store.folder).summaries)) == [
        f"{late}: was interrupted and left no record"
    ]
