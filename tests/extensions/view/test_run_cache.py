import os
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from agentbench.attempt.logs import AttemptFiles
from agentbench.attempt.outages import CircuitBreaker
from agentbench.errors import InputError
from agentbench.extensions.view.run_cache import (
    RunCache,
    RunningAttempts,
    fingerprint_of,
    read_running_attempt,
)
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.verdict import judge
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import StageName
from tests.runs.records import configuration, failed, resolved
from tests.scoring import strategies

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def begun(run, place, *stages):
    """An attempt's folder, its stages begun in turn; the last one goes on."""
    folder = run / "attempts" / place
    folder.mkdir(parents=True)
    log = AttemptFiles(folder, CircuitBreaker(cancel=Event()))
    log.registered()
    for number, stage in enumerate(stages):
        log.started(stage)
        if number < len(stages) - 1:
            log.ended(result(stage))
    return log


def result(stage):
    return StageResult(
        stage=stage, evidence=Evidence(), started_at=strategies.NOON, duration=timedelta(0)
    )


def test_what_goes_on_is_told_with_its_stage(tmp_path):
    begun(tmp_path, "one/1", StageName.GIT_CLONE, StageName.AGENT_RUN)
    begun(tmp_path, "two/1")
    one, two = RunningAttempts(tmp_path).update([], since=LONG_AGO)
    assert (one.folder, one.stage) == ("one/1", StageName.AGENT_RUN)
    assert [event.stage for event in one.done] == [StageName.GIT_CLONE]
    assert one.began <= one.stage_began
    assert (two.folder, two.stage) == ("two/1", None)


def test_a_stage_that_ended_is_not_the_one_that_goes_on(tmp_path):
    begun(tmp_path, "one/1", StageName.GIT_CLONE).ended(result(StageName.GIT_CLONE))
    (one,) = RunningAttempts(tmp_path).update([], since=LONG_AGO)
    assert one.stage is None


def test_what_is_judged_goes_on_until_its_record_is_there(tmp_path):
    begun(tmp_path, "one/1", StageName.GIT_CLONE)
    begun(tmp_path, "two/1").judged(judge(strategies.expecting(), ()))
    (tmp_path / "attempts" / "three" / "1").mkdir(parents=True)
    watch = RunningAttempts(tmp_path)
    assert {one.folder for one in watch.update([], since=LONG_AGO)} == {"one/1", "two/1"}
    assert [one.folder for one in watch.update(["two/1"], since=LONG_AGO)] == ["one/1"]
    assert watch.update(["one/1", "two/1"], since=LONG_AGO) == []


def test_of_the_tries_at_an_attempt_the_last_one_goes_on(tmp_path):
    for place in ("one/1", "one/1.retry-9", "one/1.retry-10", "one/2", "one/2.rescored-1"):
        begun(tmp_path, place, StageName.SETUP)
    found = RunningAttempts(tmp_path).update([], since=LONG_AGO)
    assert {one.folder for one in found} == {"one/1.retry-10", "one/2"}


def test_what_an_earlier_process_left_does_not_go_on(tmp_path):
    begun(tmp_path, "one/1", StageName.SETUP)
    assert (
        RunningAttempts(tmp_path).update([], since=datetime.now(UTC) + timedelta(seconds=9)) == []
    )


def test_what_begins_later_is_found_however_soon_after_a_look(tmp_path):
    watch = RunningAttempts(tmp_path)
    assert watch.update([], since=LONG_AGO) == []
    for number in range(1, 20):
        begun(tmp_path, f"one/{number}", StageName.SETUP)
        assert len(watch.update([], since=LONG_AGO)) == number


def test_what_is_no_attempt_is_none(tmp_path):
    assert read_running_attempt(tmp_path / "attempts", "one/1") is None
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "link").symlink_to(tmp_path)
    assert RunningAttempts(tmp_path).update([], since=LONG_AGO) == []


def test_it_changes_with_whatever_there_is_new_to_read(tmp_path):
    seen = [fingerprint_of(tmp_path)]
    (tmp_path / "run.json").write_text("{}")
    seen.append(fingerprint_of(tmp_path))
    with (tmp_path / "attempts.jsonl").open("a") as lines:
        lines.write("1\n")
        lines.flush()
        seen.append(fingerprint_of(tmp_path))
        lines.write("2\n")
    seen.append(fingerprint_of(tmp_path))
    with run_lock(tmp_path):
        seen.append(fingerprint_of(tmp_path))
    told = (tmp_path / "run.json").stat()
    os.utime(tmp_path / "run.json", ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    seen.append(fingerprint_of(tmp_path))
    assert len(set(seen)) == len(seen)
    assert fingerprint_of(tmp_path) == seen[-1]
    assert [each.is_live for each in seen] == [False] * 4 + [True, False]


@pytest.fixture
def store(tmp_path):
    """A run of one attempt."""
    made = RunStore.create(tmp_path, configuration(attempts=5))
    add(made, resolved())
    return made


def add(store, record):
    folder, _ = store.attempt_folder(record.task_id, record.attempt)
    store.append(record, folder)


def test_a_run_is_read_once_and_again_when_it_has_changed(store):
    cache = RunCache()
    first = cache.run(store.folder)
    assert cache.run(store.folder) is first
    assert cache.overview(store.folder) is first.overview
    add(store, failed(attempt=2))
    second = cache.run(store.folder)
    assert [told.attempt for told in second.summaries] == [1, 2]
    assert second.overview.summary.overall.total == 2
    assert (second.overview.planned, second.overview.ending) == (5, "cut off")


def test_of_a_run_that_goes_on_only_what_is_new_is_read(store):
    cache = RunCache()
    add(store, failed(attempt=2))
    with run_lock(store.folder):
        before = cache.run(store.folder)
        assert before.overview.ending == "live"
        path = store.folder / "attempts.jsonl"
        content = path.read_bytes()
        with path.open("r+b") as lines:  # what was read is not read again
            lines.write(b"x" * 100)
        for attempt in (3, 4, 5):
            add(store, resolved(attempt=attempt))
            now = cache.run(store.folder)
            assert [told.attempt for told in now.summaries] == list(range(1, attempt + 1))
            assert now.overview.warnings == ()
        with path.open("r+b") as lines:
            lines.write(content[:100])
        (record,) = now.reading.records([now.numbers["one/4"]])
        assert record.attempt == 4
    after = cache.run(store.folder)
    assert after.overview.ending == "cut off"
    assert len(after.summaries) == 5


def test_a_line_that_is_being_written_is_read_once_it_is_whole(store):
    cache = RunCache()
    line = failed(attempt=2).json_with_checksum().encode() + b"\n"
    with run_lock(store.folder), (store.folder / "attempts.jsonl").open("ab", buffering=0) as lines:
        assert len(cache.run(store.folder).summaries) == 1
        lines.write(line[:90])
        assert len(cache.run(store.folder).summaries) == 1
        lines.write(line[90:])
        assert len(cache.run(store.folder).summaries) == 2


def test_a_file_that_was_written_anew_is_read_anew(store):
    cache = RunCache()
    path = store.folder / "attempts.jsonl"
    with run_lock(store.folder):
        cache.run(store.folder)
        add(store, failed(attempt=2))
        cache.run(store.folder)
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
        told = [each.attempt for each in cache.run(store.folder).reading.summaries]
    assert told == [2]


def test_runs_that_nobody_looks_at_are_forgotten(tmp_path):
    cache = RunCache(max_summaries=3)
    folders = []
    for name in ("a", "b", "c"):
        store = RunStore.create(tmp_path, configuration(run_id=name))
        for attempt in (1, 2):
            add(store, resolved(attempt=attempt))
        folders.append(store.folder)
    runs = [cache.run(folder) for folder in folders]
    assert cache.run(folders[2]) is runs[2]
    assert cache.run(folders[0]) is not runs[0]


def test_a_run_that_cannot_be_read_is_told_in_a_list_and_refused_by_itself(store):
    (store.folder / "attempts.jsonl").write_text('{"schema_version": 99}\n')
    cache = RunCache()
    overview = cache.overview(store.folder)
    assert overview.summary is None
    assert "newer agentbench" in overview.warnings[0]
    with pytest.raises(InputError):
        cache.run(store.folder)


def test_a_run_whose_own_file_is_damaged_is_shown_by_its_records(store):
    (store.folder / "run.json").write_text("{")
    cache = RunCache()
    overview = cache.overview(store.folder)
    assert (overview.configuration, overview.planned, overview.ending) == (None, None, "unknown")
    assert overview.summary.overall.total == 1
    assert "run.json" in overview.warnings[0]
    assert cache.began(store.folder) == datetime.min.replace(tzinfo=UTC)


def test_when_a_run_began_is_read_from_its_own_file(store):
    cache = RunCache()
    assert cache.began(store.folder) == store.configuration().started_at
    assert cache.began(store.folder / "gone") == datetime.min.replace(tzinfo=UTC)


def test_the_places_of_records_are_known_with_their_last_number(store):
    add(store, failed(attempt=1, retry_of=1, task_id=TaskId("one")))
    add(store, failed(attempt=2))
    run = RunCache().run(store.folder)
    assert run.numbers == {"one/1": 0, "one/1.retry-1": 1, "one/2": 2}
    assert [told.folder_name for told in run.summaries] == ["one/1.retry-1", "one/2"]


def test_attempts_go_on_only_while_the_run_does(store):
    folder, _ = store.attempt_folder(TaskId("two"), 1)
    (folder / "events.jsonl").write_text(
        f'{{"at": "{datetime.now(UTC).isoformat()}", "event": "registered"}}\n'
    )
    assert RunCache().run(store.folder).running_attempts() == []
    with run_lock(store.folder):
        (one,) = RunCache().run(store.folder).running_attempts()
    assert one.folder == "two/1"
