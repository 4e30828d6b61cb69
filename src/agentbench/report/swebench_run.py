"""A run's instances of SWE-bench: its tasks, what they were made of, and the attempts at them."""

from pathlib import Path

from agentbench.report.reported_run import ReportedRun
from agentbench.report.swebench import ReportedInstance
from agentbench.runs.store import RunStore
from agentbench.tasks.importers.swebench.origin import read_origin


def reported_instances(run: ReportedRun) -> tuple[ReportedInstance, ...]:
    """An instance for each task of a run, with its first attempt: SWE-bench knows of one.

    A task whose folder is gone, or that was not imported, goes by its own id.

    Raises:
        InputError: run.json, a record or a task's swebench.json is damaged.
    """
    first = [number for number in run.latest if run.reading.headlines[number].attempt == 1]
    records = {record.task_id: record for record in run.reading.records(first)}
    return tuple(
        ReportedInstance(
            origin=read_origin(Path(task.folder)),
            task_id=task.id,
            record=records.get(task.id),
        )
        for task in RunStore.open(run.folder).configuration().tasks
    )
