"""Which tests decide, found by running before and after the reference solution."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

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
    if not tasks:
        return {}
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    told = replace(options, agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF)
    made = run_through([without_ids(task) for task in tasks.values()], told, follow)
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
        options.say(f"{folder / TASK_FILE}: {len(ids.fail_to_pass)} fail_to_pass ids written")
    return faults
