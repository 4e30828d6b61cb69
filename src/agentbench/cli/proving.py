"""The runs behind `agentbench validate`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import typer

from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.progress import follow
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.runs.record import AttemptRecord
from agentbench.runs.start import start_run
from agentbench.runs.store import new_run_id
from agentbench.runs.validation import TaskProof, found_ids, prove, without_ids
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.task import Task
from agentbench.tasks.write_ids import write_ids


def prove_tasks(
    tasks: Sequence[Task], options: RunOptions, *, quiet: bool, verbose: bool
) -> list[TaskProof]:
    """Run oracle and no-op on every task, and hold the tasks against what came of it."""
    run_id = f"validate-{new_run_id(datetime.now(UTC))}"
    records = {
        agent: _run(
            tasks, replace(options, agent=agent, run_id=f"{run_id}-{agent}"), quiet, verbose
        )
        for agent in ("oracle", "noop")
    }
    return [prove(task, _of(task, records["oracle"]), _of(task, records["noop"])) for task in tasks]


def fill_in_ids(tasks: Sequence[Task], options: RunOptions, *, quiet: bool, verbose: bool) -> None:
    """Find out by running which tests the reference solution fixes, and write them down.

    Raises:
        InputError: the reference solution of a task fixes no test.
    """
    unlisted = [without_ids(task) for task in tasks]
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    told = replace(options, agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF)
    records = _run(unlisted, told, quiet, verbose)
    faults = []
    for task in tasks:
        ids = found_ids(_of(task, records))
        where = task.folder / "task.toml"
        if not ids.fail_to_pass:
            details = {record.detail for record in _of(task, records) if record.detail}
            said = f" ({'; '.join(sorted(details))})" if details else ""
            faults.append(f"{where}: the reference solution makes no failing test pass{said}")
            continue
        kept = None if task.answer_key.pass_to_pass == "baseline" else ids.pass_to_pass
        write_ids(where, fail_to_pass=ids.fail_to_pass, pass_to_pass=kept)
        typer.echo(f"{where}: {len(ids.fail_to_pass)} fail_to_pass ids written", err=True)
    if faults:
        raise InputError(*faults)


def _run(
    tasks: Sequence[Task], options: RunOptions, quiet: bool, verbose: bool
) -> list[AttemptRecord]:
    run = start_run(tasks, options)
    for warning in run.warnings:
        typer.echo(f"warning: {warning}", err=True)
    follow(run, quiet=quiet, verbose=verbose)
    if run.workshop.cancel.is_set():
        raise typer.Exit(ExitCode.INTERRUPTED)
    return list(run.store.latest().records)


def _of(task: Task, records: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    return [record for record in records if record.task_id == task.id]
