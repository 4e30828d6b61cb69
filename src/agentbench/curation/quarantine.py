"""Flaky tests taken out of what decides, and written down with their rates."""

from collections.abc import Mapping
from pathlib import Path

from agentbench.scoring.evidence import NodeId
from agentbench.tasks.draft import TASK_FILE
from agentbench.tasks.task import Task
from agentbench.tasks.write_ids import write_ids


def set_apart(folder: Path, task: Task, rates: Mapping[NodeId, float]) -> str | None:
    """Quarantine a task's flaky tests in its task.toml; says why where that cannot be done.

    Raises:
        OSError: the file cannot be written.
    """
    key = task.answer_key
    if not key.fail_to_pass:
        return "no test is listed, so none can be quarantined: --write-ids lists them"
    fixed = [node_id for node_id in key.fail_to_pass if node_id not in rates]
    if not fixed:
        return "every test to fix is flaky"
    kept = key.pass_to_pass
    left = None if kept == "baseline" else [node_id for node_id in kept if node_id not in rates]
    write_ids(folder / TASK_FILE, fail_to_pass=fixed, pass_to_pass=left, quarantined=rates)
    return None
