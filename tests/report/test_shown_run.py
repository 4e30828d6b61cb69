import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from agentbench.attempt.record import TimingRecord
from agentbench.errors import InputError
from agentbench.report.reported_run import ReportedRun, TimedRun, concurrency
from agentbench.runs.store.summaries import AttemptSummary
from benchmarks.synthetic_run import Wanted, write_run
from tests.runs.records import resolved

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def run_of(*spans):
    attempts = [
        AttemptSummary.of(resolved(attempt=number, timing=TimingRecord(total_s=length)))
        for number, (_, length) in enumerate(spans, start=1)
    ]
    starts = [NOON + timedelta(seconds=start) for start, _ in spans]
    return TimedRun(name="run", attempts=attempts, starts=starts)


def test_starts_are_those_of_the_records(tmp_path):
    run = ReportedRun.read(write_run(Wanted(runs_dir=tmp_path, tasks=5, attempts=2)))
    shown = TimedRun.of(run)
    assert shown.starts == [record.started_at for record in run.records()]
    assert [each.task_id for each in shown.attempts] == [r.task_id for r in run.records()]


@pytest.mark.parametrize("kept", [0, 3])
def test_records_without_a_line_are_taken_from_their_copies(tmp_path, kept):
    folder = write_run(Wanted(runs_dir=tmp_path, tasks=5, folders=True))
    usual = TimedRun.of(ReportedRun.read(folder))
    lines = (folder / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "attempts.jsonl").write_bytes(b"".join(lines[:kept]))
    if not kept:
        (folder / "attempts.jsonl").unlink()
    adopted = TimedRun.of(ReportedRun.read(folder))
    told = [
        dict(zip([a.task_id for a in r.attempts], r.starts, strict=True)) for r in (usual, adopted)
    ]
    assert told[0] == told[1]


def test_a_line_that_is_gone_since_is_one_clear_error(tmp_path):
    folder = write_run(Wanted(runs_dir=tmp_path, tasks=2))
    run = ReportedRun.read(folder)
    (folder / "attempts.jsonl").write_text(json.dumps({"no": "record"}) + "\n")
    with pytest.raises(
        InputError, match=r"attempts\.jsonl: the record of cache__00000/1 was changed"
    ):
        TimedRun.of(run)
    shutil.rmtree(folder)


def test_time_counts_from_the_first_start():
    run = run_of((10, 5), (0, 12.0004))
    assert run.spans() == [(10, 15), (0, 12)]
    assert (run.began, run.seconds, run.most_at_once) == (NOON, 15, 2)


def test_what_begins_as_another_ends_is_not_beside_it():
    assert run_of((0, 5.0000001), (5, 5)).most_at_once == 1
    assert concurrency([(0, 5), (5, 10)]) == [(0, 1), (5, 1), (10, 0)]
    assert concurrency([(1, 1)]) == [(1, 0)]


def test_a_run_of_nothing_has_no_time():
    run = run_of()
    assert (run.began, run.spans(), run.seconds, run.most_at_once) == (None, [], 0.0, 0)
