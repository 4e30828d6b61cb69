import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.attempt.logs import read_events
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import StageResult
from agentbench.scoring.verdict import Verdict, judge
from agentbench.taxonomy import Fault
from benchmarks.synthetic_run import Wanted, write_run
from tests.hostile_texts import HOSTILE


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    runs_dir = tmp_path_factory.mktemp("runs")
    return RunStore(write_run(Wanted(runs_dir=runs_dir, tasks=60, attempts=2, folders=True)))


def test_every_record_is_whole_and_has_the_verdict_of_its_evidence(run):
    read = read_run(run.folder)
    assert read.warnings() == ()
    assert len(read.summaries) >= 120
    for record in read.records():
        results = [
            StageResult(
                stage=stage.name,
                evidence=stage.evidence,
                started_at=stage.started_at,
                duration=record.timing.total_s,
            )
            for stage in record.stages
        ]
        again = judge(record.expected, results)
        assert again == Verdict(**{name: getattr(record, name) for name in Verdict.model_fields})


def test_every_attempt_is_there_with_all_kinds_of_ends(run):
    latest = run.latest()
    assert len(latest) == 120
    assert {record.fault for record in read_run(run.folder).records()} == {None, *Fault}
    summary = ResultSummary.of(latest)
    assert 0 < summary.overall.resolved < 120
    assert summary.cost_usd is not None
    assert summary.cost_usd > 0


def test_attempts_have_the_files_that_their_records_name(run):
    for record in read_run(run.folder).records():
        folder = run.folder_of(record)
        assert all((folder / stage.log).is_file() for stage in record.stages)
        assert record.patch is None or (folder / record.patch.path).is_file()
        assert (folder / "agent" / "trajectory.json").is_file() == (record.agent_run is not None)
        assert read_events(folder)[-1].resolved is record.resolved


def test_the_same_options_make_the_same_run(tmp_path):
    one, other = (
        write_run(Wanted(runs_dir=tmp_path / name, tasks=5, folders=folders))
        for name, folders in (("a", False), ("b", True))
    )
    assert one.name == other.name
    without_logs = [
        [record.replace(stages=()) for record in read_run(each).records()] for each in (one, other)
    ]
    assert without_logs[0] == without_logs[1]


def test_texts_that_are_handed_in_are_said_by_the_agents(tmp_path):
    wanted = Wanted(runs_dir=tmp_path, tasks=40, texts=HOSTILE, folders=True)
    records = tuple(read_run(write_run(wanted)).records())
    said = "".join(record.detail for record in records)
    assert "<script>" in said
    assert any(text in str(records[0].tests[0].node_id) for text in HOSTILE)


def test_the_program_prints_the_folder(tmp_path):
    program = [sys.executable, "benchmarks/synthetic_run.py", "--runs-dir", str(tmp_path)]
    done = subprocess.run(
        [*program, "--tasks", "2", "--agent", "a", "--no-prices"],
        capture_output=True,
        text=True,
        check=True,
    )
    records = tuple(read_run(Path(done.stdout.strip())).records())
    assert {record.task_id for record in records} == {"cache__00000", "router__00001"}
    assert {record.usage.cost_usd for record in records if record.usage} <= {None}
