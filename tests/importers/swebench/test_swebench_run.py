from agentbench.importers.swebench.report import reported_instances
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.tasks.dataset_rows import ORIGIN_FILE, SwebenchOrigin, origin_json
from tests.runs.records import configuration, failed, resolved


def test_every_task_of_a_run_is_an_instance_with_its_first_attempt_s_last_record(tmp_path):
    origin = SwebenchOrigin(instance_id="One__x-1", repo="One/x", fail_to_pass=("t.py::a",))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ORIGIN_FILE).write_bytes(origin_json(origin))
    names = ("one", "gone", "unmade")
    tasks = tuple(TaskEntry(id=n, folder=str(tmp_path / n), digest="d") for n in names)
    store = RunStore.create(tmp_path / "runs", configuration(attempts=2, tasks=tasks))
    for record in (
        failed(task_id="one"),
        resolved(task_id="one", retry_of=1),
        failed(task_id="one", attempt=2),
        failed(task_id="gone"),
    ):
        folder, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record, folder)
    one, gone, unmade = reported_instances(ReportedRun.read(store.folder))
    assert (one.instance_id, one.record.resolved, one.origin) == ("One__x-1", True, origin)
    assert (gone.instance_id, gone.record.resolved, gone.origin) == ("gone", False, None)
    assert (unmade.instance_id, unmade.record) == ("unmade", None)
