import os
import signal
import stat
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest

from agentbench.attempt.record import RunId
from agentbench.errors import InputError, StorageError, UsageError
from agentbench.runs.options import RunOptions
from agentbench.runs.start import resume_run, start_run
from agentbench.runs.store.configuration import RunEnding
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore, find_run, is_run_locked, new_run_id, run_lock
from agentbench.tasks.problem import TaskId
from tests.runs.records import RUN, configuration, failed, resolved

HOLDER = """
import sys, time
from pathlib import Path
from agentbench.runs.store.store import run_lock, is_run_locked
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has the folder."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.usefixtures("holder")
def test_another_process_is_told_what_to_do(tmp_path):
    with (
        pytest.raises(UsageError, match="another process is making this run's attempts; wait"),
        run_lock(tmp_path),
    ):
        raise AssertionError


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_dead_process_held_is_free_at_once(holder, tmp_path, end):
    assert is_run_locked(tmp_path)
    os.kill(holder.pid, end)
    holder.wait()
    assert not is_run_locked(tmp_path)
    with run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass


def test_whether_it_is_held_can_be_seen_without_taking_or_making_it(tmp_path):
    assert not is_run_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with run_lock(tmp_path):
        assert is_run_locked(tmp_path)
        assert is_run_locked(tmp_path)
    assert not is_run_locked(tmp_path)


def test_a_folder_that_is_none_is_told_as_such(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(StorageError, match="cannot be written"), run_lock(tmp_path / "run"):
        raise AssertionError


def test_a_run_that_is_under_way_is_not_gone_on_with(task, provider, tmp_path):
    options = RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path, jobs=1, attempts=2)
    run = start_run([task], options)
    with closing(run.attempts()) as records:
        next(records)
        with pytest.raises(UsageError, match="another process"):
            resume_run(run.store.folder, cache_dir=options.cache_dir)
        with pytest.raises(UsageError, match="another process"):
            next(run.attempts())


def test_what_the_one_before_has_done_meanwhile_is_not_done_again(task, provider, tmp_path):
    options = RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path, jobs=1, attempts=2)
    run = start_run([task], options)
    assert len(list(run.attempts())) == 2
    assert list(run.attempts()) == []
    assert len(tuple(read_run(run.store.folder).records())) == 2


ONE = TaskId("one")


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path, configuration())


def append(store, record):
    folder, retry = store.attempt_folder(record.task_id, record.attempt)
    record = record.replace(retry_of=retry or None)
    store.append(record, folder)
    return record


def test_ids_sort_by_time_whatever_the_zone():
    east = datetime(2026, 1, 2, 1, 0, tzinfo=timezone(timedelta(hours=9)))
    assert new_run_id(east).startswith("20260101T160000-")
    assert new_run_id(east) != new_run_id(east)
    assert new_run_id(east) < new_run_id(east + timedelta(seconds=1))


def test_a_run_is_what_it_was_asked_to_do(store, tmp_path):
    assert store.folder == tmp_path / RUN
    assert RunStore.open(store.folder).configuration() == configuration()
    changed = configuration(ending=RunEnding.FINISHED)
    store.write_configuration(changed)
    assert store.configuration() == changed
    assert [path.name for path in store.folder.iterdir()] == ["run.json"]


def test_a_run_is_made_once(store, tmp_path):
    with pytest.raises(UsageError, match=r"already exists; choose another --run-id"):
        RunStore.create(tmp_path, configuration())
    assert store.configuration() == configuration()


def test_a_folder_that_cannot_be_written_is_wrong_usage(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose another --runs-dir"):
        RunStore.create(tmp_path / "file", configuration())


def test_where_no_run_is_none_is_opened(tmp_path):
    with pytest.raises(InputError, match=r"no run here; expected a folder with a run\.json"):
        RunStore.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "run.json: "),
        ('{"run_id": 3', "run.json: "),
        ("[" * 100_000, "run.json: "),
        ('{"schema_version": 99}', "schema_version 99 is of a newer agentbench"),
        ('{"schema_version": 1}', r"run.json: run_id: is missing; its records can still be"),
    ],
)
def test_a_run_that_cannot_be_read_says_why(store, text, said):
    (store.folder / "run.json").write_text(text)
    with pytest.raises(InputError, match=said):
        store.configuration()


def test_a_record_is_on_disk_as_a_line_and_as_a_file(store):
    record = append(store, resolved())
    (line,) = (store.folder / "attempts.jsonl").read_text().splitlines()
    assert type(record).model_validate_json(line) == record
    own = (store.folder / "attempts/one/1/record.json").read_text()
    assert type(record).model_validate_json(own) == record
    assert own.startswith('{\n "schema_version": 1,\n')
    assert store.folder_of(record) == store.folder / "attempts/one/1"


def test_records_come_back_in_their_order(store):
    written = [append(store, resolved(attempt=number)) for number in (2, 1, 3)]
    read = read_run(store.folder)
    assert list(read.records()) == written
    assert read.warnings() == ()


def test_a_retry_overwrites_nothing_and_its_record_is_the_latest(store):
    first = append(store, failed())
    again = append(store, failed())
    last = append(store, resolved())
    assert [record.retry_of for record in (first, again, last)] == [None, 1, 2]
    names = sorted(path.name for path in (store.folder / "attempts/one").iterdir())
    assert names == ["1", "1.retry-1", "1.retry-2"]
    assert store.folder_of(last).name == "1.retry-2"
    assert store.latest() == (last,)
    assert tuple(read_run(store.folder).records()) == (first, again, last)


def test_a_folder_without_a_record_counts_as_a_try(store):
    store.attempt_folder(ONE, 1)
    assert append(store, resolved()).retry_of == 1


@pytest.mark.parametrize("torn", [b'{"run_id": "x', b"\xff\xfe", b"null", b"[]", b"{}"])
def test_a_torn_last_line_is_set_aside_and_the_next_is_whole(store, torn):
    first = append(store, failed(attempt=1))
    with (store.folder / "attempts.jsonl").open("ab") as target:
        target.write(torn)
    read = read_run(store.folder)
    assert tuple(read.records()) == (first,)
    assert "attempts.jsonl:2: set aside" in read.warnings()[0]
    second = append(store, resolved(attempt=2))
    assert tuple(read_run(store.folder).records()) == (first, second)
    assert len(read_run(store.folder).warnings()) == 1


def test_a_line_is_on_the_disk_before_append_returns(store, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(identity(os.fstat(fd))) or real(fd))
    append(store, resolved())
    attempts, task = store.folder / "attempts", store.folder / "attempts" / "one"
    # The names of the new folders, the record and its name, the line and its name.
    in_order = [store.folder, attempts, task, task / "1/record.json", task / "1"]
    in_order += [store.folder / "attempts.jsonl", store.folder]
    assert synced == [identity(path.stat()) for path in in_order]
    synced.clear()
    append(store, resolved(attempt=2))
    in_order = [task, task / "2/record.json", task / "2", store.folder / "attempts.jsonl"]
    assert synced == [identity(path.stat()) for path in in_order]


def identity(facts: os.stat_result) -> tuple[int, int]:
    return (facts.st_ino, facts.st_size if stat.S_ISREG(facts.st_mode) else 0)


def test_threads_append_whole_lines(store):
    def write(attempt: int) -> None:
        for _ in range(5):
            append(store, resolved(attempt=attempt))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    read = read_run(store.folder)
    assert len(read.summaries) == 20
    assert read.warnings() == ()
    assert len({(record.attempt, record.retry_of) for record in read.summaries}) == 20


def test_a_record_judged_again_gets_a_folder_beside_the_first(store):
    record = append(store, resolved())
    assert store.rescored_folder(record).name == "1.rescored-1"
    assert store.rescored_folder(record).name == "1.rescored-2"


def test_a_run_is_found_by_path_by_id_and_as_the_last(tmp_path):
    times = {"zzz": 1, "20260102T120000-abcd": 3, "20260102T130000-abcd": 2}
    for name, hour in times.items():
        began = datetime(2026, 1, 2, hour, tzinfo=UTC)
        RunStore.create(tmp_path, configuration(run_id=RunId(name), started_at=began))
    assert find_run("zzz", tmp_path) == tmp_path / "zzz"
    assert find_run(str(tmp_path / "zzz"), tmp_path / "elsewhere") == tmp_path / "zzz"
    assert find_run("last", tmp_path) == tmp_path / "20260102T120000-abcd"
    (tmp_path / "20260102T120000-abcd" / "run.json").write_text("torn")
    assert find_run("last", tmp_path) == tmp_path / "20260102T130000-abcd"


def test_a_run_that_proves_a_task_is_found_by_its_id_and_is_never_the_last(tmp_path):
    RunStore.create(tmp_path, configuration())
    later = datetime(2099, 1, 1, tzinfo=UTC)
    proof = configuration(run_id=RunId("validate-x"), started_at=later)
    RunStore.create(tmp_path / "validation", proof)
    assert find_run("validate-x", tmp_path) == tmp_path / "validation" / "validate-x"
    assert find_run("last", tmp_path) == tmp_path / configuration().run_id


@pytest.mark.parametrize("name", ["last", "nothing", ""])
def test_a_run_that_is_not_there_is_said(tmp_path, name):
    with pytest.raises(InputError, match="no run"):
        find_run(name, tmp_path)


def damaged(path, at: int) -> bytes:
    """Flip one bit of a file; returns what it was."""
    content = path.read_bytes()
    path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    return content


def test_any_flipped_bit_in_run_json_is_seen(store):
    path = store.folder / "run.json"
    for at in range(path.stat().st_size - 1):
        content = damaged(path, at)
        with pytest.raises(InputError, match=r"run\.json: .*its records can still be read"):
            store.configuration()
        path.write_bytes(content)
    assert store.configuration() == configuration()


def test_a_damaged_version_is_damage_and_not_a_newer_agentbench(store):
    append(store, resolved())
    for path in (store.folder / "run.json", store.folder / "attempts.jsonl"):
        content = path.read_bytes()
        at = content.index(b"1", content.index(b"schema_version"))
        path.write_bytes(content[:at] + b"9" + content[at + 1 :])
    with pytest.raises(InputError, match="the file was damaged or changed"):
        store.configuration()
    assert "set aside: digest: says sha256:" in read_run(store.folder).warnings()[0]


@pytest.mark.parametrize("at", [0, 1, 40, 400, -1, -2, -50, -90])
def test_recovery_writes_a_damaged_last_line_again(store, at):
    records = [append(store, failed(attempt=1)), append(store, resolved(attempt=2))]
    path = store.folder / "attempts.jsonl"
    damaged(path, at % path.stat().st_size)
    assert any("set aside" in warning for warning in read_run(store.folder).warnings())
    (message,) = store.recover()
    assert message.endswith("its line in attempts.jsonl was lost, and is written again")
    assert sorted(store.latest(), key=lambda record: record.attempt) == records


def test_damage_to_both_copies_is_said_and_the_attempt_is_gone(store):
    append(store, failed())
    damaged(store.folder / "attempts.jsonl", 100)
    damaged(store.folder / "attempts/one/1/record.json", 100)
    assert store.latest() == ()
    (message,) = store.recover()
    assert "record.json: set aside: digest: says" in message
    assert "the attempt is repeated" in message
    assert store.latest() == ()


def test_recovery_completes_what_a_power_cut_took(store):
    first, second = append(store, failed(attempt=1)), append(store, resolved(attempt=2))
    path = store.folder / "attempts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    (message,) = store.recover()
    assert message.endswith(
        "attempts/one/2/record.json: its line in attempts.jsonl was lost, and is written again"
    )
    assert path.read_bytes() == whole
    assert store.latest() == (first, second)
    assert store.recover() == ()


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (3,), (0, 2), (1, 3), (0, 1, 2, 3)])
def test_the_last_record_of_an_attempt_stays_the_last_whichever_lines_are_lost(store, lost):
    append(store, failed())
    again = append(store, resolved())
    for detail in ("once", "twice"):
        judged = again.replace(detail=detail)
        store.append(judged, store.rescored_folder(judged))
    path = store.folder / "attempts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in lost))
    store.recover()
    assert [record.detail for record in store.latest()] == ["twice"]
    assert store.recover() == ()


def test_a_record_in_the_folder_of_another_attempt_is_not_taken(store):
    append(store, resolved())
    page = (store.folder / "attempts/one/1/record.json").read_bytes()
    folder, _ = store.attempt_folder(ONE, 2)
    (folder / "record.json").write_bytes(page)
    assert store.recover() == (f"{folder}/record.json: is the record of one/1",)


def test_odd_folders_and_earlier_tries_are_not_said_to_be_interrupted(store):
    store.attempt_folder(ONE, 1)
    last = append(store, resolved())
    store.rescored_folder(last)
    for name in ("notes", "1.retry-x"):
        (store.folder / "attempts/one" / name).mkdir()
    assert store.recover() == ()
    late, _ = store.attempt_folder(ONE, 1)
    assert store.recover() == (f"{late}: was interrupted and left no record",)


def test_a_try_that_left_no_record_is_said_until_a_later_one_did(store):
    folder, _ = store.attempt_folder(ONE, 1)
    assert store.recover() == (f"{folder}: was interrupted and left no record",)
    (folder / "record.json").write_text('{"torn')
    (message,) = store.recover()
    assert message.startswith(f"{folder}/record.json: set aside: expected JSON: ")
    append(store, resolved())
    assert store.recover() == ()
