"""Imports instances in batches: each is written, located and validated before the next one.

After each batch a line shows the progress, and the report is written. An interrupted import that is
started again validates only the remaining instances.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.core.display_text import counted
from agentbench.core.host import available_cpus
from agentbench.extensions.swebench.import_state import (
    ImportStates,
    ImportStep,
    InstanceState,
    storage_errors,
)
from agentbench.extensions.swebench.importing import (
    ImportSelection,
    RowSource,
    SwebenchImportResult,
    import_batches,
    row_key,
    selected_rows,
)
from agentbench.extensions.swebench.located_tests import locate_by_source, write_located_tests
from agentbench.importers.task_images import TaskImages
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.validation.task_proof import FollowRun
from agentbench.validation.task_validation import (
    ValidationResult,
    ValidationSettings,
    validate_folders,
)

_PER_JOB = 4  # instances of a batch for each parallel attempt
_LEAST_BATCH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProof:
    """The settings for running new tasks."""

    settings: ValidationSettings
    images: TaskImages
    follow: FollowRun
    remedy: str = ""  # against a missing image

    @property
    def batch_size(self) -> int:
        """The number of instances in a batch; an interruption loses the runs of one batch."""
        return max(_LEAST_BATCH, _PER_JOB * (self.settings.options.jobs or available_cpus()))


@dataclass(slots=True, kw_only=True)
class ImportedInstances:
    """The results of an import so far."""

    total: int = 0  # instances to import
    seen: int = 0
    states: dict[Path, InstanceState] = field(default_factory=dict)  # of the written tasks
    proven: dict[Path, ValidationResult] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    seen_before: int = 0  # instances that needed no run

    @property
    def written(self) -> list[Path]:
        """The folders of the tasks."""
        return list(self.states)

    @property
    def refused(self) -> int:
        return len({(each.where, each.instance) for each in self.rejections})

    def progress_line(self, used_bytes: int | None, now: float) -> str:
        """Counts, time left and disk space."""
        valid = sum(each.is_valid for each in self.proven.values())
        counts = f"{valid} valid, {len(self.proven) - valid} invalid, {self.refused} refused"
        parts = [f"{self.seen} of {counted(self.total, 'instance')}: {counts}"]
        run, left = self.seen - self.seen_before, self.total - self.seen
        if run > 0 and left > 0:
            minutes = max(1, round((now - self.started) / run * left / 60))
            hours = f"{minutes // 60} h {minutes % 60} min"
            parts.append(f"about {hours if minutes >= 60 else f'{minutes} min'} left")
        if used_bytes is not None:
            parts.append(f"images and snapshots take {used_bytes / 1e9:.1f} GB")
        return "; ".join(parts)

    def python_notes(self) -> list[str]:
        """A line for each Python that was replaced by another one."""
        counts = Counter(
            (state.environment.partition(",")[0], state.replaces)
            for state in self.states.values()
            if state.replaces
        )
        return [
            f"{counted(count, 'instance')} ran with {python} instead of {replaced}, "
            "for which no base image is available"
            for (python, replaced), count in counts.items()
        ]


class BatchImport:
    """One import into a folder."""

    def __init__(
        self,
        choice: ImportSelection,
        states: ImportStates,
        *,
        mirrors: Mirrors,
        proof: ImportProof | None,
        say: Callable[[str], None],
        save: Callable[[ImportedInstances], None],
    ) -> None:
        """Prepare an import.

        Args:
            choice: The instances.
            states: Those of the folder.
            mirrors: The repositories.
            proof: How the tasks are run; None: they are only written.
            say: Receives lines about the progress.
            save: Receives the results after each batch.
        """
        self.results = ImportedInstances()
        self._choice, self._states, self._mirrors = choice, states, mirrors
        self._proof, self._say, self._save = proof, say, save

    def run(self, source: RowSource) -> ImportedInstances:
        """Import a file.

        Raises:
            InputError: the file cannot be read.
            UsageError: a folder cannot be written, or the file is of an unknown kind.
            UnavailableError: no sandbox is available, or a disk is full.
        """
        results, proof = self.results, self._proof
        done = 0
        for row in selected_rows(source, self._choice):
            results.total += 1
            key = row_key(row, self._choice)
            done += key is not None and self._states.is_done(row.id, key)
        if self._choice.limit is not None:
            results.total = min(results.total, self._choice.limit)
        if done:
            self._say(f"resuming: {done} of {results.total} done")
        size = proof.batch_size if proof is not None else max(results.total, 1)
        for batch in import_batches(source, self._choice, self._mirrors, self._states, size=size):
            known = set(results.proven)
            with storage_errors(self._choice.out):
                results.rejections += batch.rejections
                if proof is None:
                    self._refuse(locate_by_source(batch.without_node_ids, self._mirrors))
                    results.states |= _existing(batch.written)
                else:
                    self._prove(batch, proof)
            results.seen = min(results.total, results.seen + batch.rows)
            fresh = [each for each in results.proven if each not in known]
            stored = sum(results.proven[each].is_from_stored_proof for each in fresh)
            results.seen_before += stored + batch.rows - len(batch.written)
            self._save(results)
            if proof is not None and results.total > size:
                used = proof.images.used_bytes
                self._say(results.progress_line(used, time.monotonic()))
        return results

    def _prove(self, batch: SwebenchImportResult, proof: ImportProof) -> None:
        missing = (proof.images.refuse(folder, remedy=proof.remedy) for folder in batch.written)
        self._refuse([each for each in missing if each is not None])
        states = _existing(batch.written)
        pending = [folder for folder, each in states.items() if each.step is ImportStep.WRITTEN]
        undecided = self._locate(pending, states, proof) if pending else {}
        # What the infrastructure failed to run is neither valid nor refused.
        states = {folder: state for folder, state in states.items() if folder not in undecided}
        self.results.states |= _existing(states)
        proven = validate_folders(list(_existing(states)), proof.settings, proof.follow)
        self.results.proven |= {each.folder: each for each in proven}

    def _locate(
        self, folders: Sequence[Path], states: dict[Path, InstanceState], proof: ImportProof
    ) -> Iterable[Path]:
        """Write the test lists that are valid here; returns the tasks that could not be run."""
        located = write_located_tests(folders, proof.settings.options, proof.follow)
        for note in located.notes:
            self._say(f"note: {note}")
        for folder, lines in located.differences.items():
            changes = {"step": ImportStep.LOCATED, "differences": lines}
            states[folder] = states[folder].replace(**changes)
            self._states.save(TaskId(folder.name), states[folder])
        self._refuse(located.rejections, states)
        for folder, why in located.undecided.items():
            what = f"could not be run ({why}); run the same command again"
            name = states[folder].instance_id
            self.results.rejections.append(Rejection(where=str(folder), instance=name, what=what))
        return located.undecided

    def _refuse(
        self, rejections: Iterable[Rejection], states: Mapping[Path, InstanceState] | None = None
    ) -> None:
        """Count refused tasks, which are removed; with `states` the next import does so, too."""
        for rejection in rejections:
            self.results.rejections.append(rejection)
            folder = Path(rejection.where)
            if states is not None:
                changes = {"step": ImportStep.REFUSED, "refusal": rejection.what}
                refused = states[folder].replace(**changes)
                self._states.save(TaskId(folder.name), refused)
            else:
                self._states.forget(TaskId(folder.name))


def _existing(states: dict[Path, InstanceState]) -> dict[Path, InstanceState]:
    return {folder: state for folder, state in states.items() if folder.is_dir()}
