"""Which tests decide, found by running before and after the reference solution."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentbench.audit.patch import parse_patch
from agentbench.curation.detection.test_files import is_looked_for
from agentbench.curation.proving import Follow, run_through
from agentbench.runs.options import RunOptions
from agentbench.runs.store import new_run_id
from agentbench.runs.validation import found_ids, without_ids
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.draft import TASK_FILE
from agentbench.tasks.task import Task
from agentbench.tasks.write_ids import write_ids


def find_ids(tasks: Mapping[Path, Task], options: RunOptions, follow: Follow) -> dict[Path, str]:
    """Write fail_to_pass and pass_to_pass into each task.toml; gives what was not found, and why.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    faults = _find(tasks, options, follow)
    # The whole suite can be more than a sandbox takes, or end pytest before a test ran.
    narrow = {folder: _narrowed(tasks[folder]) for folder in faults}
    again = {folder: task for folder, task in narrow.items() if task is not None}
    if again:
        names = ", ".join(task.id for task in again.values())
        options.say(f"{names}: looking only at the test files that the hidden tests change")
    left = {folder: fault for folder, fault in faults.items() if folder not in again}
    return left | _find(again, options, follow)


def _find(tasks: Mapping[Path, Task], options: RunOptions, follow: Follow) -> dict[Path, str]:
    if not tasks:
        return {}
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    told = replace(options, agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF)
    made = run_through([_open(task) for task in tasks.values()], told, follow)
    faults: dict[Path, str] = {}
    for folder, task in tasks.items():
        records = made.of(task)
        ids = found_ids(records)
        if not ids.fail_to_pass:
            details = sorted({record.detail for record in records if record.detail})
            said = f" ({'; '.join(details)})" if details else ""
            faults[folder] = f"the reference solution makes no failing test pass{said}"
            continue
        kept = None if task.answer_key.pass_to_pass == "baseline" else ids.pass_to_pass
        write_ids(
            folder / TASK_FILE,
            fail_to_pass=ids.fail_to_pass,
            pass_to_pass=kept,
            quarantined=ids.flake_rates,
        )
        written = f"{len(ids.fail_to_pass)} fail_to_pass"
        written += f" and {len(kept)} pass_to_pass ids" if kept is not None else " ids"
        options.say(f"{folder / TASK_FILE}: {written} written")
    return faults


def _open(task: Task) -> Task:
    """The task as it is judged before its tests are known; a file that breaks hides no other."""
    task = without_ids(task)
    command = f"{task.problem.test_command} --continue-on-collection-errors"
    return _with(task, test_command=command)


def _narrowed(task: Task) -> Task | None:
    """The task with only those test files that its hidden tests change; None: it is so already."""
    changed = [file for file in parse_patch(task.answer_key.tests_patch) if not file.removed]
    files = tuple(file.path for file in changed if is_looked_for(file.path))
    return _with(task, test_paths=files) if files and files != task.problem.test_paths else None


def _with(task: Task, **changes: object) -> Task:
    return task.model_copy(update={"problem": task.problem.model_copy(update=changes)})
