"""Creates and validates tasks for many pairs of releases, and records each result."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentbench.core.files import owned_folder
from agentbench.core.schema import Schema
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.extensions.releases.package_index import (
    PackageIndex,
    PackageReleases,
    RequestedReleases,
)
from agentbench.extensions.releases.release_task import task_id_of, write_release_task
from agentbench.importers.candidates import CandidateOutcome, candidate_outcome
from agentbench.sandbox.registry import select_back_end
from agentbench.validation.task_proof import FollowRun
from agentbench.validation.task_validation import (
    ValidationSettings,
    validate_folders,
)

RELEASE_LOG: Final = "releases.jsonl"
# Tasks that are validated together; an interruption loses one batch.
_BATCH = 4
_CANDIDATES = ".candidates"


class ImportedPair(Schema):
    """One pair of releases, and why it is a task or not."""

    package: str
    old: str | None = None  # None: the index did not name it
    new: str | None = None
    fate: CandidateOutcome
    reasons: tuple[str, ...] = ()
    run: bool = False  # whether the result is from the validation of its task
    task: str | None = None
    fail_to_pass: int = 0

    @property
    def pair(self) -> str:
        """The package and its releases, in the form of the command line."""
        return " ".join(filter(None, (self.package, self.old, self.new)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseImportSettings:
    """The folder for the tasks, and the settings of their validation."""

    index: PackageIndex
    out: Path
    gate: ValidationSettings | None  # None: they are written without being validated
    replace: bool = False
    say: Callable[[str], None] = field(default=lambda _line: None)


def import_releases(
    requested: Sequence[RequestedReleases], settings: ReleaseImportSettings, follow: FollowRun
) -> list[ImportedPair]:
    """Create a task for each pair of releases; each result is recorded in the folder at once.

    Raises:
        UnavailableError: no sandbox is available.
        UsageError: the folder cannot be written.
    """
    if settings.gate is not None:
        options = settings.gate.options
        select_back_end(options.sandbox, cache_dir=options.cache_dir)
    try:
        settings.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{settings.out}: cannot be written: {error.strerror}") from error
    importer = _ReleaseImporter(settings, follow)
    for at in range(0, len(requested), _BATCH):
        importer.take(requested[at : at + _BATCH])
    return [importer.entries[pair] for pair in requested]


@dataclass(slots=True)
class _Candidate:
    requested: RequestedReleases
    pair: PackageReleases | None = None  # None: not found on the index


@dataclass(slots=True)
class _ReleaseImporter:
    settings: ReleaseImportSettings
    follow: FollowRun
    entries: dict[RequestedReleases, ImportedPair] = field(default_factory=dict)

    def take(self, batch: Sequence[RequestedReleases]) -> None:
        gate = self.settings.gate
        options = gate.options if gate is not None else None
        with owned_folder(_CANDIDATES, self.settings.out) as parent:
            candidates: dict[Path, _Candidate] = {}
            for requested in batch:
                self.settings.say(f"{requested}: downloading, unpacking, comparing")
                candidate = _Candidate(requested)
                try:
                    candidate.pair = self.settings.index.pair(requested)
                    path = self.settings.out / task_id_of(candidate.pair)
                    if os.path.lexists(path) and not self.settings.replace:
                        what = "already exists; give another --out, or --replace"
                        reasons = (f"{path}: {what}",)
                        self._note(candidate, CandidateOutcome.REJECTED, reasons)
                        continue
                    folder = write_release_task(
                        candidate.pair, self.settings.index, parent, options
                    )
                except InputError as error:
                    self._note(candidate, CandidateOutcome.REJECTED, error.faults)
                # The index may answer the next time.
                except UnavailableError as error:
                    self._note(candidate, CandidateOutcome.UNDECIDED, (str(error),))
                else:
                    candidates[folder] = candidate
            if self.settings.gate is None:
                for folder, candidate in candidates.items():
                    self._keep(candidate, folder, fail_to_pass=0)
            elif candidates:
                for proven in validate_folders(tuple(candidates), self.settings.gate, self.follow):
                    candidate = candidates[proven.folder]
                    if proven.is_valid:
                        fixed = proven.proof.to_control if proven.proof is not None else 0
                        self._keep(candidate, proven.folder, fail_to_pass=fixed)
                    else:
                        outcome = candidate_outcome(proven)
                        self._note(candidate, outcome, proven.reasons, run=True)

    def _keep(self, candidate: _Candidate, folder: Path, *, fail_to_pass: int) -> None:
        path = self.settings.out / folder.name
        if os.path.lexists(path):
            shutil.rmtree(path)
        folder.rename(path)
        facts = {"task": str(path), "fail_to_pass": fail_to_pass, "run": True}
        self._note(candidate, CandidateOutcome.KEPT, (), **facts)

    def _note(
        self,
        candidate: _Candidate,
        outcome: CandidateOutcome,
        reasons: Sequence[str],
        **facts: object,
    ) -> None:
        requested, pair = candidate.requested, candidate.pair
        old = pair.old.version if pair is not None else requested.old
        new = pair.new.version if pair is not None else requested.new
        entry = ImportedPair(
            package=requested.package,
            old=str(old) if old is not None else None,
            new=str(new) if new is not None else None,
            fate=outcome,
            reasons=tuple(reasons),
        ).replace(**facts)
        self.entries[requested] = entry
        with (self.settings.out / RELEASE_LOG).open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")
        message = f": {'; '.join(entry.reasons)}" if entry.reasons else ""
        self.settings.say(f"{entry.pair}: {entry.fate.value}{message}")
