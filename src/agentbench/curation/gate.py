"""The gate that every task passes before it counts: proven by running, or named with the reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.runs.record import AttemptRecord
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.runs.store import new_run_id
from agentbench.runs.validation import TaskProof, found_ids, prove, without_ids
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.draft import TASK_FILE
from agentbench.tasks.load import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.tasks.write_ids import write_ids

Follow = Callable[[Run], None]
"""Makes a run's attempts and shows them; raises when it is interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """How tasks are proven; `options.attempts` is how often each agent tries each."""

    options: RunOptions
    write_ids: bool = False
    """Find fail_to_pass and pass_to_pass by running, and write them into task.toml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """What the gate says of one task's folder."""

    folder: Path
    task_id: TaskId
    reasons: tuple[str, ...]
    """Why it is not good; none: it is."""
    proof: TaskProof | None = None
    """What running it showed; None: it could not be run."""

    @property
    def good(self) -> bool:
        """Whether the task may be used."""
        return not self.reasons


def prove_folders(folders: Sequence[Path], settings: GateSettings, follow: Follow) -> list[Proven]:
    """Prove the tasks in some folders; in the order of the folders, each with its reasons.

    A task that cannot be loaded, that its reference solution does not resolve, that doing nothing
    resolves, or that is flaky, is not good; it touches none of the others.

    Raises:
        UnavailableError: there is no sandbox to prove them in.
        UsageError: an option is wrong.
    """
    mirrors = Mirrors(settings.options.cache_dir / "mirrors")
    refused: dict[Path, tuple[str, ...]] = {}
    if settings.write_ids:
        loaded = _loaded(folders, mirrors, refused)
        refused |= _with_ids(loaded, settings.options, follow)
    left = [folder for folder in folders if folder not in refused]
    tasks = _loaded(left, mirrors, refused)
    proofs = _proofs(tasks, settings.options, follow)
    return [_said(folder, refused, tasks, proofs) for folder in folders]


def _loaded(
    folders: Sequence[Path], mirrors: Mirrors, refused: dict[Path, tuple[str, ...]]
) -> dict[Path, Task]:
    tasks = {}
    for folder in folders:
        try:
            tasks[folder] = load_task(folder, mirrors=mirrors)
        except InputError as error:
            refused[folder] = error.faults
    return tasks


def _with_ids(
    tasks: dict[Path, Task], options: RunOptions, follow: Follow
) -> dict[Path, tuple[str, ...]]:
    """Write down which tests the reference solutions fix; gives those that fix none."""
    run_id = f"write-ids-{new_run_id(datetime.now(UTC))}"
    told = replace(options, agent="oracle", run_id=run_id, integrity_controls=ControlLevel.OFF)
    records = _records([without_ids(task) for task in tasks.values()], told, follow)
    refused: dict[Path, tuple[str, ...]] = {}
    for folder, task in tasks.items():
        own = [record for record in records if record.task_id == task.id]
        ids = found_ids(own)
        if not ids.fail_to_pass:
            details = sorted({record.detail for record in own if record.detail})
            said = f" ({'; '.join(details)})" if details else ""
            refused[folder] = (f"the reference solution makes no failing test pass{said}",)
            continue
        kept = None if task.answer_key.pass_to_pass == "baseline" else ids.pass_to_pass
        write_ids(folder / TASK_FILE, fail_to_pass=ids.fail_to_pass, pass_to_pass=kept)
    return refused


def _proofs(tasks: dict[Path, Task], options: RunOptions, follow: Follow) -> dict[Path, TaskProof]:
    run_id = f"validate-{new_run_id(datetime.now(UTC))}"
    made = {
        agent: _records(
            tuple(tasks.values()),
            replace(options, agent=agent, run_id=f"{run_id}-{agent}"),
            follow,
        )
        for agent in ("oracle", "noop")
    }
    return {
        folder: prove(
            task,
            [record for record in made["oracle"] if record.task_id == task.id],
            [record for record in made["noop"] if record.task_id == task.id],
        )
        for folder, task in tasks.items()
    }


def _records(
    tasks: Sequence[Task], options: RunOptions, follow: Follow
) -> tuple[AttemptRecord, ...]:
    if not tasks:
        return ()
    run = start_run(tasks, options)
    follow(run)
    return tuple(run.store.latest().records)


def _said(
    folder: Path,
    refused: dict[Path, tuple[str, ...]],
    tasks: dict[Path, Task],
    proofs: dict[Path, TaskProof],
) -> Proven:
    if folder in refused:
        return Proven(folder=folder, task_id=TaskId(folder.name), reasons=refused[folder])
    proof = proofs[folder]
    flaky = (f"flaky: {node_id}" for node_id in proof.flaky)
    reasons = (*proof.faults, *flaky)
    return Proven(folder=folder, task_id=tasks[folder].id, reasons=reasons, proof=proof)
