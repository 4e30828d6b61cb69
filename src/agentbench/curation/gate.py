"""The gate that every task passes before it counts: proven by running, or named with the reason.

A task is good when its reference solution resolves it and doing nothing does not, as often as each
is tried; when it fails without a fix for the right reason; and when none of the tests that decide
is flaky. Flaky ones can be quarantined; the task is then proven again without them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentbench.curation.finding_ids import find_ids
from agentbench.curation.kept_proof import KeptProof, kept_form, read_proof, write_proof
from agentbench.curation.leaks import leaks_of
from agentbench.curation.proving import Follow, Shown, run_proofs
from agentbench.curation.quarantine import set_apart
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.runs.validation import TaskProof
from agentbench.scoring.evidence import Finding
from agentbench.tasks.importers.swebench.origin import FILE as ORIGIN
from agentbench.tasks.load import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_BATCH = 24  # tasks whose proofs are kept together: what an interruption costs
_ROUNDS = 3  # of quarantining; a task that is flaky in new places after these is not good


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """How tasks are proven; `options.attempts` is how often each agent tries each."""

    options: RunOptions
    write_ids: bool = False
    """Find fail_to_pass and pass_to_pass by running, and write them into task.toml."""
    record: bool = False
    """Quarantine flaky tests in task.toml, and keep what was found out in proof.json."""
    resume: bool = False
    """Leave alone what proof.json shows to be proven as it is, at least as often as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """What the gate says of one task's folder."""

    folder: Path
    task_id: TaskId
    reasons: tuple[str, ...]
    """Why it is not good; none: it is."""
    proof: TaskProof | None = None
    """What running it showed; None: its files are wrong, or it was proven earlier."""
    leaks: tuple[Finding, ...] = ()
    kept: KeptProof | None = None
    """What proof.json holds of it, where that is written or was taken over."""
    earlier: bool = False
    """Whether an earlier proof was taken over."""
    undecided: bool = False
    """Whether an attempt was lost to the infrastructure, so that it is not known."""

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
        OSError: settings.record, and a task's folder cannot be written.
    """
    gate = _Gate(settings, follow)
    found: dict[Path, Proven] = {}
    for batch in _batches(folders, _BATCH if settings.record else len(folders)):
        found |= gate.prove(batch)
    return [found[folder] for folder in folders]


class _Gate:
    def __init__(self, settings: GateSettings, follow: Follow) -> None:
        self._settings = settings
        self._options = settings.options
        self._follow = follow
        self._mirrors = Mirrors(settings.options.cache_dir / "mirrors")

    def prove(self, folders: Sequence[Path]) -> dict[Path, Proven]:
        """Prove one batch."""
        found: dict[Path, Proven] = {}
        tasks = self._load(folders, found)
        if self._settings.resume:
            found |= self._earlier(tasks)
        if self._settings.write_ids:
            self._write_ids(tasks, found)
            tasks = self._load(folders, found)
        left = {folder: task for folder, task in tasks.items() if folder not in found}
        return found | self._proven(left)

    def _load(self, folders: Sequence[Path], found: dict[Path, Proven]) -> dict[Path, Task]:
        tasks = {}
        for folder in folders:
            if folder in found:
                continue
            try:
                tasks[folder] = load_task(folder, mirrors=self._mirrors)
            except InputError as error:
                found[folder] = _refused(folder, TaskId(folder.name), error.faults)
        return tasks

    def _earlier(self, tasks: dict[Path, Task]) -> dict[Path, Proven]:
        found = {}
        for folder, task in tasks.items():
            kept = read_proof(folder)
            if kept is not None and self._still_holds(kept, task):
                found[folder] = Proven(
                    folder=folder,
                    task_id=task.id,
                    reasons=kept.reasons,
                    leaks=kept.leaks,
                    kept=kept,
                    earlier=True,
                )
        return found

    def _still_holds(self, kept: KeptProof, task: Task) -> bool:
        asked = self._options.sandbox
        same = asked in {"auto", kept.sandbox} if isinstance(asked, str) else False
        return kept.task_digest == task.digest and kept.repeat >= self._options.attempts and same

    def _write_ids(self, tasks: dict[Path, Task], found: dict[Path, Proven]) -> None:
        left = {
            folder: task
            for folder, task in tasks.items()
            if folder not in found and task.answer_key.verifier is None  # a script has no ids
        }
        for folder, fault in find_ids(left, self._options, self._follow).items():
            found[folder] = _refused(folder, left[folder].id, (fault,))

    def _proven(self, tasks: dict[Path, Task]) -> dict[Path, Proven]:
        shown = run_proofs(tasks, self._options, self._follow)
        if self._settings.record:
            shown, tasks = self._quarantined(shown, tasks)
        return {folder: self._said(folder, task, shown[folder]) for folder, task in tasks.items()}

    def _quarantined(
        self, shown: dict[Path, Shown], tasks: dict[Path, Task]
    ) -> tuple[dict[Path, Shown], dict[Path, Task]]:
        """Set flaky tests apart and prove those tasks again."""
        shown, tasks = dict(shown), dict(tasks)
        for _ in range(_ROUNDS):
            flaky = [folder for folder in tasks if shown[folder].proof.flaky]
            changed = [
                folder
                for folder in flaky
                if set_apart(folder, tasks[folder], shown[folder].proof.flake_rates) is None
            ]
            if not changed:
                break
            again = {folder: load_task(folder, mirrors=self._mirrors) for folder in changed}
            tasks |= again
            shown |= run_proofs(again, self._options, self._follow)
        return shown, tasks

    def _said(self, folder: Path, task: Task, shown: Shown) -> Proven:
        leaks = leaks_of(task, self._mirrors)
        flaky = (f"flaky: {test} ({rate:.0%})" for test, rate in shown.proof.flake_rates.items())
        reasons = (*shown.proof.faults, *flaky, *_unguarded(folder, task, shown.proof))
        kept = None
        if self._settings.record and not shown.undecided:
            kept = kept_form(task, shown, reasons, leaks, self._options.attempts)
            write_proof(folder, kept)
        return Proven(
            folder=folder,
            task_id=task.id,
            reasons=reasons,
            proof=shown.proof,
            leaks=leaks,
            kept=kept,
            undecided=shown.undecided,
        )


def _unguarded(folder: Path, task: Task, proof: TaskProof) -> Iterator[str]:
    """Without regression tests, an agent that breaks everything else is resolved.

    SWE-bench publishes some instances without any, and judges them so.
    """
    by_script = task.answer_key.verifier is not None
    if not (proof.faults or proof.regression_tests or by_script or (folder / ORIGIN).is_file()):
        yield (
            "no regression tests: no test passes both before and after the fix; "
            "list some in tests.pass_to_pass, or find them with --write-ids"
        )


def _refused(folder: Path, task_id: TaskId, faults: Sequence[str]) -> Proven:
    return Proven(folder=folder, task_id=task_id, reasons=tuple(faults))


def _batches(folders: Sequence[Path], size: int) -> Iterator[list[Path]]:
    rest = iter(folders)
    while batch := list(islice(rest, max(size, 1))):
        yield batch
