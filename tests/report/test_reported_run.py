import pytest

from agentbench.errors import InputError
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.tasks.problem import TaskId
from tests.runs.records import configuration, failed, resolved


@pytest.fixture
def folder(tmp_path):
    tasks = tuple(TaskEntry(id=TaskId(name), folder=name, digest="d") for name in ("one", "two"))
    store = RunStore.create(tmp_path / "runs", configuration(attempts=2, tasks=tasks))
    for record in (failed(), resolved(retry_of=1), failed(attempt=2), failed(task_id="two")):
        store.append(record, store.attempt_folder(record.task_id, record.attempt)[0])
    return store.folder


def test_of_each_attempt_the_last_record_is_reported(folder):
    run = ReportedRun.read(folder)
    assert [(each.folder_name, each.resolved) for each in run.attempts] == [
        ("one/1.retry-1", True), ("one/2", False), ("two/1", False),
    ]  # fmt: skip
    assert [record.resolved for record in ReportedRun.read(folder).records()] == [
        True, False, False,
    ]  # fmt: skip
    assert (run.entrant.name, len(run.entrant.attempts)) == (folder.name, 3)


def test_what_was_planned_and_has_no_record_is_unmade(folder):
    assert ReportedRun.read(folder).unmade() == [("two", 2)]


def test_without_a_whole_run_json_the_plan_is_not_known(folder):
    run = ReportedRun.read(folder)
    (folder / "run.json").write_text("{")
    with pytest.raises(InputError, match="its records can still be read"):
        run.unmade()
