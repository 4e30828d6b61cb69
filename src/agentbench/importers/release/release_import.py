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
from agentbench.importers.history import CandidateOutcome, candidate_outcome
from agentbench.importers.release.package_index import (
    PackageIndex,
    PackageReleases,
    RequestedReleases,
)
from agentbench.importers.release.release_task import task_id_of, write_release_task
from agentbench.runs.components import select_sandbox
from agentbench.validation.task_proof import FollowRun
from agentbench.validation.task_validation import (
    ValidationResult,
    ValidationSettings,
    validate_folders,
)

RELEASE_LOG: Final = "releases.jsonl"
_BATCH = 4  # tasks that are validated together; an interruption loses one batch
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
        select_sandbox(settings.gate.options)
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
        """Create and validate the tasks of some pairs."""
        with owned_folder(_CANDIDATES, self.settings.out) as parent:
            candidates: dict[Path, _Candidate] = {}
            for requested in batch:
                self.settings.say(f"{requested}: downloading, unpacking, comparing")
                self._make(_Candidate(requested), parent, candidates)
            if self.settings.gate is None:
                for folder, candidate in candidates.items():
                    self._keep(candidate, folder, fail_to_pass=0)
            elif candidates:
                for proven in validate_folders(tuple(candidates), self.settings.gate, self.follow):
                    self._settle(candidates[proven.folder], proven)

    def _make(
        self, candidate: _Candidate, parent: Path, candidates: dict[Path, _Candidate]
    ) -> None:
        settings = self.settings
        try:
            candidate.pair = settings.index.pair(candidate.requested)
            self._refuse_present(candidate.pair)
            options = settings.gate.options if settings.gate is not None else None
            candidates[write_release_task(candidate.pair, settings.index, parent, options)] = (
                candidate
            )
        except InputError as error:
            self._note(candidate, CandidateOutcome.REJECTED, error.faults)
        except UnavailableError as error:
            self._note(candidate, CandidateOutcome.UNDECIDED, (str(error),))

    def _refuse_present(self, pair: PackageReleases) -> None:
        path = self.settings.out / task_id_of(pair)
        if os.path.lexists(path) and not self.settings.replace:
            raise InputError(f"{path}: already exists; give another --out, or --replace")

    def _settle(self, candidate: _Candidate, proven: ValidationResult) -> None:
        if proven.is_valid:
            fixed = proven.proof.to_control if proven.proof is not None else 0
            self._keep(candidate, proven.folder, fail_to_pass=fixed)
        else:
            self._note(candidate, candidate_outcome(proven), proven.reasons, run=True)

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
