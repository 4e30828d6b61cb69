import pytest

from agentbench.runs.store.reading import read_copy, read_run
from agentbench.runs.store.store import RunStore
from tests.runs.records import configuration, failed, resolved


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


def append(store, record):
    folder, retry = store.attempt_folder(record.task_id, record.attempt)
    record = record.model_copy(update={"retry_of": retry or None})
    store.append(record, folder)
    return record


def judged_again(store, record, detail):
    again = record.model_copy(update={"detail": detail})
    store.append(again, store.rescored_folder(again))
    return again


def without_lines(store, *numbers):
    path = store.folder / "attempts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in numbers))


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (3,), (0, 2), (1, 3), (0, 1, 2, 3)])
def test_the_last_word_on_an_attempt_stays_the_last_whichever_lines_are_lost(store, lost):
    first = append(store, failed())
    again = append(store, resolved())
    once = judged_again(store, again, "once")
    twice = judged_again(store, again, "twice")
    without_lines(store, *lost)
    assert tuple(read_run(store.folder).records()) == (first, again, once, twice)
    assert store.latest() == (twice,)
    store.recover()
    assert store.latest() == (twice,)


def test_a_record_of_before_there_were_digests_is_read_and_never_adopted(store):
    folder, _ = store.attempt_folder(resolved().task_id, 1)
    (folder / "record.json").write_text(resolved().model_dump_json(indent=1))
    assert read_run(store.folder).adopted == ()
    (store.folder / "attempts.jsonl").write_text(resolved().model_dump_json() + "\n")
    reading = read_run(store.folder)
    assert tuple(reading.records()) == (resolved(),)
    assert reading.warnings() == ()


def test_a_record_in_the_folder_of_another_attempt_is_not_taken(store):
    append(store, resolved())
    page = (store.folder / "attempts/one/1/record.json").read_bytes()
    folder, _ = store.attempt_folder(resolved().task_id, 2)
    (folder / "record.json").write_bytes(page)
    assert read_copy(folder / "record.json") == "is the record of one/1"
    assert read_run(store.folder).adopted == ()
