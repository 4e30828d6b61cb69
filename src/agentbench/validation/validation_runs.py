"""The runs that validate tasks: attempts with the reference solution and without an agent.

They also show which tests decide: those that fail before the reference solution and pass with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import parse_patch
from agentbench.core.choices import ControlLevel
from agentbench.runs.options import VALIDATION, RunOptions
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.runs.store.store import new_run_id
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.task import Task
from agentbench.tasks.writing import write_test_lists
from agentbench.validation.environment.found_tests import is_collected_by_default
from agentbench.validation.task_proof import TaskProof, deciding_tests, prove, without_ids

FollowRun = Callable[[Run], None]
"""Runs the attempts and shows them; raises if it is interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProofRun:
    """The results of running a task, and the sandbox that it ran in."""

    proof: TaskProof
    sandbox: str
    undecided: bool
    """Whether an attempt failed because of the infrastructure, so that the result is unknown."""


def run_proofs(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> dict[Path, TaskProofRun]:
    """Run every task with both agents; the results are by folder."""
    if not tasks:
        return {}
    run_id = f"validate-{new_run_id(datetime.now(UTC))}"
    oracle, noop = (
        run_to_end(
            tuple(tasks.values()), options.replace(agent=agent, run_id=f"{run_id}-{agent}"), follow
        )
        for agent in ("oracle", "noop")
    )
    return {folder: _proof_run(task, oracle, noop) for folder, task in tasks.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A whole run: its last records, and its sandbox."""

    records: tuple[AttemptRecord, ...]
    sandbox: str

    def of(self, task: Task) -> list[AttemptRecord]:
        """The records of one task."""
        return [record for record in self.records if record.task_id == task.id]


def run_to_end(tasks: Sequence[Task], options: RunOptions, follow: FollowRun) -> FinishedRun:
    """Run to the end, in the folder of validation runs."""
    run = start_run(tasks, options.replace(runs_dir=options.runs_dir / VALIDATION))
    follow(run)
    return FinishedRun(records=tuple(run.store.latest().records), sandbox=run.configuration.sandbox)


def _proof_run(task: Task, oracle: FinishedRun, noop: FinishedRun) -> TaskProofRun:
    records = [*oracle.of(task), *noop.of(task)]
    return TaskProofRun(
        proof=prove(task, oracle.of(task), noop.of(task)),
        sandbox=oracle.sandbox,
        undecided=any(record.fault is Fault.INFRASTRUCTURE for record in records),
    )


def find_deciding_tests(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> dict[Path, str]:
    """Write fail_to_pass and pass_to_pass into each task.toml; returns failures with reasons."""
    faults = _find_and_write(tasks, options, follow)
    # The whole suite can exceed the sandbox's limits, or end pytest before a test runs.
    narrow = {folder: _narrowed(tasks[folder]) for folder in faults}
    again = {folder: task for folder, task in narrow.items() if task is not None}
    if again:
        names = ", ".join(task.id for task in again.values())
        options.say(f"{names}: looking only at the test files that the hidden tests change")
    left = {folder: fault for folder, fault in faults.items() if folder not in again}
    return left | _find_and_write(again, options, follow)


def _find_and_write(
    tasks: Mapping[Path, Task], options: RunOptions, follow: FollowRun
) -> dict[Path, str]:
    if not tasks:
        return {}
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    told = options.replace(agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF)
    made = run_to_end([_without_listed_tests(task) for task in tasks.values()], told, follow)
    faults: dict[Path, str] = {}
    for folder, task in tasks.items():
        records = made.of(task)
        ids = deciding_tests(records)
        if not ids.fail_to_pass:
            details = sorted({record.detail for record in records if record.detail})
            message = f" ({'; '.join(details)})" if details else ""
            faults[folder] = f"the reference solution makes no failing test pass{message}"
            continue
        kept = None if task.answer_key.pass_to_pass == "baseline" else ids.pass_to_pass
        write_test_lists(
            folder / TASK_FILE,
            fail_to_pass=ids.fail_to_pass,
            pass_to_pass=kept,
            quarantined=ids.flake_rates,
        )
        written = f"{len(ids.fail_to_pass)} fail_to_pass"
        written += f" and {len(kept)} pass_to_pass ids" if kept is not None else " ids"
        options.say(f"{folder / TASK_FILE}: {written} written")
    return faults


def _without_listed_tests(task: Task) -> Task:
    """The task before its tests are known; pytest goes on after files that it cannot collect."""
    task = without_ids(task)
    command = f"{task.problem.test_command} --continue-on-collection-errors"
    return _with_problem(task, test_command=command)


def _narrowed(task: Task) -> Task | None:
    """The task with only the test files that its hidden tests change; None: it has no others."""
    changed = [file for file in parse_patch(task.answer_key.tests_patch) if not file.removed]
    files = tuple(file.path for file in changed if is_collected_by_default(file.path))
    return (
        _with_problem(task, test_paths=files)
        if files and files != task.problem.test_paths
        else None
    )


def _with_problem(task: Task, **changes: object) -> Task:
    return task.model_copy(update={"problem": task.problem.model_copy(update=changes)})
