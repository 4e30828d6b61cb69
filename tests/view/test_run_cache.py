import os
from datetime import UTC, datetime, timedelta
from threading import Event

from agentbench.attempt.logs import AttemptFiles
from agentbench.attempt.outages import CircuitBreaker
from agentbench.runs.store.store import run_lock
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.verdict import judge
from agentbench.taxonomy import StageName
from agentbench.view.run_cache import (
    FileFingerprint,
    RunningAttempts,
    fingerprint_of,
    read_running_attempt,
)
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


def test_a_file_goes_on_where_more_is_at_its_end():
    before = FileFingerprint(1, 10, 5)
    assert FileFingerprint(1, 10, 5).continues(before)
    assert FileFingerprint(1, 11, 6).continues(before)
    assert not FileFingerprint(1, 9, 6).continues(before)
    assert not FileFingerprint(2, 11, 6).continues(before)
    assert not FileFingerprint(1, 11, 6).continues(None)
