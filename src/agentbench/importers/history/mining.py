"""Searches a repository's history for fixes that become valid tasks.

The result for each commit is recorded.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from agentbench.core.files import owned_folder
from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.importers.history.fix_task import FixSource, TaskDestination, write_fix_task
from agentbench.tasks.fix_commit import FixCommit, split_fix
from agentbench.tasks.git_history import Commit, list_commits
from agentbench.tasks.mirror import Mirror
from agentbench.validation import task_validation
from agentbench.validation.task_proof import FollowRun

MINING_LOG = "mined.jsonl"


class CandidateOutcome(StrEnum):
    """The result for a commit."""

    KEPT = "kept"
    REJECTED = "rejected"
    UNDECIDED = "undecided"  # the infrastructure failed; the next run tries it again


def candidate_outcome(proven: task_validation.ValidationResult) -> CandidateOutcome:
    """The result for a candidate by the validation of its task."""
    if proven.is_valid:
        return CandidateOutcome.KEPT
    return CandidateOutcome.UNDECIDED if proven.undecided else CandidateOutcome.REJECTED


class MinedCommit(Schema):
    """One commit, and why it is a task or not."""

    commit: str
    subject: str
    fate: CandidateOutcome
    reasons: tuple[str, ...] = ()
    candidate: bool = False  # whether it was tried, not skipped for what it changes
    task: str | None = None


class MiningLog:
    """A file with one entry per line; the last entry of a commit counts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / MINING_LOG
        self.entries = {entry.commit: entry for entry in self._read()}

    def is_settled(self, commit: str) -> bool:
        """Whether a commit needs no second try."""
        known = self.entries.get(commit)
        return known is not None and known.fate is not CandidateOutcome.UNDECIDED

    def add(self, entry: MinedCommit) -> None:
        """Record the result for a commit."""
        self.entries[entry.commit] = entry
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")

    def _read(self) -> Iterator[MinedCommit]:
        if not self._path.exists():
            return
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                yield MinedCommit.model_validate_json(line)
            except ValidationError as error:
                if not line.endswith(b"}"):
                    continue  # the last line of a killed process
                raise InputError(
                    f"{self._path}:{number}: is not a line of `tasks mine` ({error.error_count()} "
                    "faults); remove the file to begin anew"
                ) from None


_BATCH = 8  # candidates that are validated together; an interruption loses one batch
_CANDIDATES = ".candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSettings:
    """Which commits to try, and where the tasks go."""

    origin: FixSource
    out: Path
    gate: task_validation.ValidationSettings
    tests: tuple[str, ...] = ()  # globs that match test files; none: pytest's usual names
    since: str | None = None
    until: str | None = None
    limit: int | None = None  # the most commits to try; None: all candidates
    whole_suite: bool = True
    say: Callable[[str], None] = field(default=lambda _line: None)


def mine(told: MiningSettings, head: Mirror, follow: FollowRun) -> list[MinedCommit]:
    """Search the history of a mirror's HEAD, newest commit first; yields each commit's result.

    Valid tasks are moved into the folder after their validation, and each result is recorded there
    at once, so that an interrupted search can be continued.
    """
    return _Miner(told, head, follow).run()


class _Miner:
    def __init__(self, told: MiningSettings, head: Mirror, follow: FollowRun) -> None:
        self._told = told
        self._head = head
        self._follow = follow
        self._ledger = MiningLog(told.out)
        self._seen: list[str] = []

    def run(self) -> list[MinedCommit]:
        told = self._told
        fixes = islice(self._fixes(), told.limit)
        while batch := list(islice(fixes, _BATCH)):
            with owned_folder(_CANDIDATES, told.out) as folder:
                made, place = {}, TaskDestination(parent=folder)
                for fix in batch:
                    try:
                        made[
                            write_fix_task(fix, told.origin, place, whole_suite=told.whole_suite)
                        ] = fix
                    except InputError as error:
                        self._note(fix.commit, CandidateOutcome.REJECTED, error.faults)
                found = task_validation.validate_folders(tuple(made), told.gate, self._follow)
                for proven in found:
                    self._settle(made[proven.folder], proven)
        return [self._ledger.entries[commit] for commit in self._seen]

    def _fixes(self) -> Iterator[FixCommit]:
        """The candidates; other commits are recorded as skipped."""
        for commit in list_commits(self._head, since=self._told.since, until=self._told.until):
            self._seen.append(commit.hash)
            if self._ledger.is_settled(commit.hash):
                continue
            found = split_fix(self._head, commit, tests=self._told.tests)
            if isinstance(found, FixCommit):
                yield found
            else:
                self._note(commit, CandidateOutcome.REJECTED, [found], candidate=False)

    def _settle(self, fix: FixCommit, proven: task_validation.ValidationResult) -> None:
        fate = candidate_outcome(proven)
        if fate is CandidateOutcome.KEPT:
            proven.folder.rename(self._told.out / proven.task_id)
            self._note(fix.commit, fate, (), task=proven.task_id)
        else:
            self._note(fix.commit, fate, proven.reasons)

    def _note(
        self,
        commit: Commit,
        fate: CandidateOutcome,
        reasons: Sequence[str],
        *,
        candidate: bool = True,
        task: str | None = None,
    ) -> None:
        entry = MinedCommit(
            commit=commit.hash,
            subject=commit.subject,
            fate=fate,
            reasons=tuple(reasons),
            candidate=candidate,
            task=task,
        )
        self._ledger.add(entry)
        if candidate:
            message = f": {'; '.join(reasons)}" if reasons else ""
            self._told.say(f"{commit.hash[:12]} {fate.value}{message}")
