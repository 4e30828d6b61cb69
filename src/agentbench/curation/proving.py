"""The runs behind a proof: the reference solution and doing nothing, as often as asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentbench.runs.options import VALIDATION, RunOptions
from agentbench.runs.record import AttemptRecord
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.runs.store import new_run_id
from agentbench.runs.validation import TaskProof, prove
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.task import Task

Follow = Callable[[Run], None]
"""Makes a run's attempts and shows them; raises when it is interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What running a task showed, and where."""

    proof: TaskProof
    sandbox: str
    undecided: bool
    """Whether an attempt was lost to the infrastructure: then nothing is known of the task."""


def run_proofs(
    tasks: Mapping[Path, Task], options: RunOptions, follow: Follow
) -> dict[Path, Shown]:
    """Try every task with both agents, and hold it against what came of it; by its folder.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    if not tasks:
        return {}
    run_id = f"validate-{new_run_id(datetime.now(UTC))}"
    oracle, noop = (
        run_through(
            tuple(tasks.values()), replace(options, agent=agent, run_id=f"{run_id}-{agent}"), follow
        )
        for agent in ("oracle", "noop")
    )
    return {folder: _shown(task, oracle, noop) for folder, task in tasks.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A whole run: its last records, and the sandbox that they were made in."""

    records: tuple[AttemptRecord, ...]
    sandbox: str

    def of(self, task: Task) -> list[AttemptRecord]:
        """The records of one task."""
        return [record for record in self.records if record.task_id == task.id]


def run_through(tasks: Sequence[Task], options: RunOptions, follow: Follow) -> Made:
    """Make a run to its end, apart from the runs that somebody asked for.

    Raises:
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    run = start_run(tasks, replace(options, runs_dir=options.runs_dir / VALIDATION))
    follow(run)
    return Made(records=tuple(run.store.latest().records), sandbox=run.configuration.sandbox)


def _shown(task: Task, oracle: Made, noop: Made) -> Shown:
    records = [*oracle.of(task), *noop.of(task)]
    return Shown(
        proof=prove(task, oracle.of(task), noop.of(task)),
        sandbox=oracle.sandbox,
        undecided=any(record.fault is Fault.INFRASTRUCTURE for record in records),
    )
