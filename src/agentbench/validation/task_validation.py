"""Validates tasks: the reference solution always resolves them, and doing nothing never does.

A task must also fail without a fix for the right reason, and no deciding test may be flaky. Flaky
tests can be quarantined; the task is then validated again without them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentbench import __version__
from agentbench.audit.audit import WEAK_CONTROL, audit_task
from agentbench.audit.task_facts import read_task_facts
from agentbench.core.display_text import list_with_more
from agentbench.errors import InputError
from agentbench.integrity.records import ControlKind
from agentbench.runs.options import RunOptions
from agentbench.scoring.evidence import Finding, NodeId, Severity
from agentbench.tasks.dataset_rows import ORIGIN_FILE as ORIGIN
from agentbench.tasks.loading import TASK_FILE, load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.tasks.writing import write_test_lists
from agentbench.validation.stored_proof import (
    StoredProof,
    control_counts,
    read_proof,
    write_proof,
)
from agentbench.validation.task_proof import FollowRun, TaskProof, find_deciding_tests, run_proofs

_BATCH = 24  # tasks that are validated and recorded together; an interruption loses one batch
_QUARANTINE_ROUNDS = 3  # of quarantining; a task with new flaky tests after them is invalid
_MAX_KINDS = 6  # in a summary; the rest is counted together
_MAX_NAMED = 3  # tests or files in a line


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSettings:
    """The settings of a validation; `options.attempts` is the number of attempts by each agent."""

    options: RunOptions
    write_ids: bool = False
    """Find fail_to_pass and pass_to_pass by running, and write them into task.toml."""
    record: bool = False
    """Quarantine flaky tests in task.toml, and write the results into proof.json."""
    resume: bool = False  # skip unchanged tasks whose proof.json has at least as many attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """The result for one task's folder."""

    folder: Path
    task_id: TaskId
    reasons: tuple[str, ...]  # why it is invalid; empty: it is valid
    proof: TaskProof | None = None
    """The results of running it; None: its files are wrong, or its stored proof is valid."""
    leaks: tuple[Finding, ...] = ()
    stored_proof: StoredProof | None = None
    """The facts of this validation, or of the proof.json that was used; None: it is undecided."""
    is_from_stored_proof: bool = False  # whether a stored proof was used
    undecided: bool = False  # whether the result is unknown because the infrastructure failed

    @property
    def is_valid(self) -> bool:
        return not self.reasons

    @property
    def fail_to_pass(self) -> int:
        """The number of tests to fix; 0: unknown."""
        if self.proof is not None:
            return self.proof.to_control
        return self.stored_proof.fail_to_pass if self.stored_proof is not None else 0

    @property
    def controls(self) -> tuple[tuple[ControlKind, int], ...]:
        """The tests to fix by how they are controlled; empty: there were no control runs."""
        proof = self.proof or self.stored_proof
        return control_counts(proof, self.fail_to_pass) if proof is not None else ()


def validate_folders(
    folders: Sequence[Path], settings: ValidationSettings, follow: FollowRun
) -> list[ValidationResult]:
    """Validate the tasks in some folders; the results have the order of the folders.

    A task is invalid if it cannot be loaded, if its reference solution does not resolve it, if
    doing nothing resolves it, or if it is flaky. It does not affect the others.

    Raises:
        UnavailableError: no sandbox is available.
        UsageError: an option is wrong.
        OSError: settings.record, and a task's folder cannot be written.
    """
    validator = _Validator(settings, follow)
    found: dict[Path, ValidationResult] = {}
    size = _BATCH if settings.record else max(len(folders), 1)
    for start in range(0, len(folders), size):
        found |= validator.prove(folders[start : start + size])
    return [found[folder] for folder in folders]


class _Validator:
    def __init__(self, settings: ValidationSettings, follow: FollowRun) -> None:
        self._settings = settings
        self._options = settings.options
        self._follow = follow
        self._mirrors = Mirrors(settings.options.cache_dir / "mirrors")

    def prove(self, folders: Sequence[Path]) -> dict[Path, ValidationResult]:
        found: dict[Path, ValidationResult] = {}
        tasks = self._load(folders, found)
        if self._settings.resume:
            for folder, task in tasks.items():
                stored = read_proof(folder, digest=task.digest)
                if stored is None:
                    continue
                sandbox = self._options.sandbox
                is_same = isinstance(sandbox, str) and sandbox in {"auto", stored.sandbox}
                if is_same and stored.repeat >= self._options.attempts:
                    found[folder] = ValidationResult(
                        folder=folder,
                        task_id=task.id,
                        reasons=stored.reasons,
                        leaks=stored.leaks,
                        stored_proof=stored,
                        is_from_stored_proof=True,
                    )
        if self._settings.write_ids:
            self._write_ids(tasks, found)
            tasks = self._load(folders, found)
        tasks = {folder: task for folder, task in tasks.items() if folder not in found}
        proofs = run_proofs(tasks, self._options, self._follow)
        if self._settings.record:
            proofs, tasks = self._quarantined(proofs, tasks)
        results = (self._result(folder, task, proofs[folder]) for folder, task in tasks.items())
        return found | {result.folder: result for result in results}

    def _load(
        self, folders: Sequence[Path], found: dict[Path, ValidationResult]
    ) -> dict[Path, Task]:
        tasks = {}
        for folder in folders:
            if folder in found:
                continue
            try:
                tasks[folder] = load_task(folder, mirrors=self._mirrors)
            except InputError as error:
                found[folder] = ValidationResult(
                    folder=folder, task_id=TaskId(folder.name), reasons=tuple(error.faults)
                )
        return tasks

    def _write_ids(self, tasks: dict[Path, Task], found: dict[Path, ValidationResult]) -> None:
        pending = {
            folder: task
            for folder, task in tasks.items()
            if folder not in found and task.answer_key.verifier is None  # a script has no ids
        }
        for folder, fault in find_deciding_tests(pending, self._options, self._follow).items():
            task_id = pending[folder].id
            found[folder] = ValidationResult(folder=folder, task_id=task_id, reasons=(fault,))

    def _quarantined(
        self, proofs: dict[Path, TaskProof], tasks: dict[Path, Task]
    ) -> tuple[dict[Path, TaskProof], dict[Path, Task]]:
        for _ in range(_QUARANTINE_ROUNDS):
            again = {}
            for folder, task in tasks.items():
                rates = proofs[folder].flake_rates
                if rates and quarantine_flaky_tests(folder, task, rates) is None:
                    again[folder] = load_task(folder, mirrors=self._mirrors)
            if not again:
                break
            tasks |= again
            proofs |= run_proofs(again, self._options, self._follow)
        return proofs, tasks

    def _result(self, folder: Path, task: Task, proof: TaskProof) -> ValidationResult:
        leaks = find_leaks(task, self._mirrors)
        flaky = (f"flaky: {test} ({rate:.0%})" for test, rate in proof.flake_rates.items())
        reasons = (*proof.faults, *flaky)
        by_script = task.answer_key.verifier is not None
        # Without regression tests, an agent may break everything else. Some published SWE-bench
        # instances have none; they are accepted as they are.
        is_instance = (folder / ORIGIN).is_file()
        if not (proof.faults or proof.regression_tests or by_script or is_instance):
            reasons += (
                "no regression tests: no test passes both before and after the fix; "
                "list some in tests.pass_to_pass, or find them with --write-ids",
            )
        stored = None
        if not proof.undecided:
            # Mutants and variants are not run again for the same files.
            former = read_proof(folder, digest=task.digest)
            stored = StoredProof(
                agentbench_version=__version__,
                task_digest=task.digest,
                proven_at=datetime.now(UTC).replace(microsecond=0),
                sandbox=proof.sandbox,
                repeat=self._options.attempts,
                good=not reasons,
                reasons=reasons,
                resolved_by_reference=proof.resolved_by_reference,
                resolved_by_noop=proof.resolved_by_noop,
                flake_rates=dict(proof.flake_rates),
                quarantined=task.answer_key.quarantined,
                fail_to_pass=proof.to_control,
                controlled=proof.controlled,
                sealed=proof.sealed,
                unsealed=dict(proof.unsealed),
                weakly_controlled=proof.weakly_controlled,
                leaks=leaks,
                seconds={name: round(duration, 3) for name, duration in proof.seconds.items()},
                peak_memory_mib=round(proof.peak_memory_mib, 1) if proof.peak_memory_mib else None,
                strength=former.strength if former is not None else None,
                fairness=former.fairness if former is not None else None,
            )
            if self._settings.record:
                write_proof(folder, stored)
        return ValidationResult(
            folder=folder,
            task_id=task.id,
            reasons=reasons,
            proof=proof,
            leaks=leaks,
            stored_proof=stored,
            undecided=proof.undecided,
        )


def find_leaks(task: Task, mirrors: Mirrors) -> tuple[Finding, ...]:
    """The serious findings, except those that a proof decides."""
    found = audit_task(read_task_facts(task, mirrors)).findings
    return tuple(
        each
        for each in found
        # Only a run shows how well tests are controlled.
        if each.rule != WEAK_CONTROL and each.severity is not Severity.INFO
    )


def quarantine_flaky_tests(folder: Path, task: Task, rates: Mapping[NodeId, float]) -> str | None:
    """Quarantine a task's flaky tests in its task.toml; returns why that is not possible.

    Raises:
        OSError: the file cannot be written.
    """
    key = task.answer_key
    if not key.fail_to_pass:
        return "no test is listed, so none can be quarantined: --write-ids lists them"
    fixed = [node_id for node_id in key.fail_to_pass if node_id not in rates]
    if not fixed:
        return "every test to fix is flaky"
    pass_to_pass = key.pass_to_pass
    stable = (
        None
        if pass_to_pass == "baseline"
        else [node_id for node_id in pass_to_pass if node_id not in rates]
    )
    write_test_lists(folder / TASK_FILE, fail_to_pass=fixed, pass_to_pass=stable, quarantined=rates)
    return None


def result_lines(one: ValidationResult) -> Iterator[str]:
    """The lines about one task: reasons and their explanation, leaks, weak controls."""
    yield from one.reasons
    yield from one.proof.explanation if one.proof is not None and one.reasons else ()
    for leak in one.leaks:
        yield f"{leak.severity.value}: {leak.rule} at {leak.where}: {leak.what}"
    proof = one.proof or one.stored_proof
    reasons: dict[str, str] = {}
    for node_id, why in proof.unsealed.items() if proof else ():
        reasons.setdefault(node_id.partition("[")[0], why)
    # All tests of another language have the same reason.
    functions: dict[str, list[str]] = {}
    for function, why in reasons.items():
        functions.setdefault(why, []).append(function)
    for why, names in functions.items():
        yield f"warning: not sealed: {list_with_more(names, _MAX_NAMED)}: {why}"
    files: dict[str, list[str]] = {}  # of which no test is controlled, by the reason
    for weak in proof.weakly_controlled if proof else ():
        if weak.function == "*":
            files.setdefault(weak.reason.removeprefix(f"{weak.file}: "), []).append(weak.file)
        else:
            yield f"weakly controlled: {weak.file}::{weak.function}: {weak.reason}"
    for why, names in files.items():
        yield f"weakly controlled: {list_with_more(names, _MAX_NAMED)}: {why}"


def all_controls(proven: Sequence[ValidationResult]) -> tuple[tuple[ControlKind, int], ...]:
    """The tests to fix of all tasks by how they are controlled."""
    kinds: Counter[ControlKind] = Counter()
    for one in proven:
        kinds.update(dict(one.controls))
    return tuple((kind, kinds[kind]) for kind in ControlKind)


def invalid_reasons_text(proven: Sequence[ValidationResult]) -> str:
    """The first reasons of invalid tasks by kind, the most frequent one first."""
    kinds: Counter[str] = Counter()
    for one in proven:
        if not one.is_valid:
            # Without the details of its task: names, numbers of runs, pytest's output.
            head = one.reasons[0].partition(": ")[0].partition(" (")[0]
            kinds[head.rpartition("/task.toml")[2].strip() or "its files are wrong"] += 1
    counts = [f"{count} x {kind}" for kind, count in kinds.most_common(_MAX_KINDS)]
    more = len(kinds) - len(counts)
    return "; ".join([*counts, *([f"{more} other reasons"] if more > 0 else [])])
