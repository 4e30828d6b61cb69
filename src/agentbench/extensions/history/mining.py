"""Searches a repository's history for fixes, and creates tasks from them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from agentbench.core.files import owned_folder
from agentbench.core.schema import Schema
from agentbench.errors import InputError, UsageError
from agentbench.importers.candidates import CandidateOutcome, candidate_outcome
from agentbench.tasks.git_history import Commit, list_commits, write_commit_files
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import RepoSource
from agentbench.tasks.task_file import RepoTable, TaskFile, is_task_id
from agentbench.tasks.version_settings import version_settings
from agentbench.tasks.writing import NewTask, write_task
from agentbench.validation import task_validation
from agentbench.validation.environment.trials import EnvironmentFinder, RepositoryChange
from agentbench.validation.fix_commit import FixCommit, split_fix
from agentbench.validation.task_proof import FollowRun

_DIGITS = 12  # of the commit's hash
_LONGEST_NAME = 80
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(-by|-to|-on)?: .*[@<].*$|^(Change-Id|PiperOrigin-RevId): ")
_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")
_LONGEST_TITLE = 200
# Characters; messages often contain shorter lines of a patch, such as `else:`
_MIN_LINE = 12
MINING_LOG = "mined.jsonl"
# Candidates that are validated together; an interruption loses one batch.
_BATCH = 8
_CANDIDATES = ".candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDestination:
    """The folder and the id of a new task."""

    parent: Path
    task_id: TaskId | None = None  # None: derived from the repository and the commit
    replace: bool = False

    @classmethod
    def of(cls, folder: Path | None, *, replace: bool = False) -> "TaskDestination":
        """The folder of the task; None: a new one in `tasks/`.

        Raises:
            UsageError: its name is not a valid task id.
        """
        if folder is None:
            return cls(parent=Path("tasks"), replace=replace)
        name = folder.resolve().name
        if not is_task_id(name):
            raise UsageError(f"{folder}: its name is not a valid task id; give one of [a-z0-9._-]+")
        return cls(parent=folder.parent, task_id=TaskId(name), replace=replace)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixSource:
    """The repository with the fixes."""

    url: str
    mirrors: Mirrors
    environments: EnvironmentFinder
    as_files: bool  # whether tasks contain the repository's files instead of its URL


def write_fix_task(
    fix: FixCommit, origin: FixSource, destination: TaskDestination, *, whole_suite: bool
) -> Path:
    """Find out how the tests before a fix run, and write the task's folder.

    Raises:
        InputError: no proposed environment works, or the task would be invalid.
        UsageError: the folder already exists, or cannot be written.
        GitCloneError: the repository does not answer.
        UnavailableError: no sandbox is available.
    """
    mirror = origin.mirrors.of(RepoSource(url=origin.url, commit=fix.base))
    with owned_folder("agentbench-base-") as scratch:
        files, fixed = scratch / "repo", scratch / "fixed"
        write_commit_files(mirror, fix.base, files)
        write_commit_files(mirror, fix.commit.hash, fixed)
        change = RepositoryChange(
            before=files, after=fixed, tests=fix.tests, on=fix.commit.date.date()
        )
        found = origin.environments.of(change)
        repo, folders = RepoTable(url=origin.url, commit=fix.base), {}
        if origin.as_files:
            # Without a history, git knows no version.
            repo, folders = RepoTable(path="repo"), {"repo": files}
            env = {**version_settings(mirror), **found.environment.env}
            found = replace(found, environment=found.environment.replace(env=env))
        if not whole_suite:
            paths = tuple(str(path) for path in fix.tests)
            found = replace(found, tests=found.tests.replace(paths=paths))
        task_id = destination.task_id or task_id_of(origin.url, fix)
        table = TaskFile(
            schema_version=1,
            id=task_id,
            title=title_of(fix),
            tags=("mined",),
            repo=repo,
            environment=found.environment,
            setup=found.setup,
            tests=found.tests,
        )
        new = NewTask(
            id=task_id,
            table=table,
            instruction=instruction_of(fix),
            tests_patch=fix.tests_patch,
            solution_patch=fix.solution_patch,
            folders=folders,
        )
        return write_task(new, destination.parent, replace=destination.replace)


def task_id_of(url: str, fix: FixCommit) -> TaskId:
    """An id from the repository's name and the fix's hash."""
    name = url.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2].lower()
    plain = re.sub(r"[^a-z0-9._-]+", "-", name).strip("-._")[:_LONGEST_NAME] or "repository"
    return TaskId(f"{plain}-{fix.commit.hash[:_DIGITS]}")


def title_of(fix: FixCommit) -> str:
    """The subject of the commit, without the number of its pull request."""
    title = (
        _NUMBER.sub("", fix.commit.subject).strip() or f"The bug fixed by {fix.commit.hash[:12]}"
    )
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def instruction_of(fix: FixCommit) -> str:
    """An instruction from the message, without trailers and without lines of the patch.

    The author of a message knows the fix, so the message may say more than a user's report would.
    For a harder task, write your own instruction.
    """
    body = fix.commit.message.strip().partition("\n")[2].replace("\0", "")
    written = {
        line[1:].strip().decode("utf-8", "replace")
        for line in fix.solution_patch.splitlines()
        if line.startswith(b"+") and len(line[1:].strip()) >= _MIN_LINE
    }
    lines = [
        line.rstrip()
        for line in body.splitlines()
        if not _TRAILER.match(line) and line.strip() not in written
    ]
    message = "\n".join(lines).strip()
    text = f"\n{message}\n" if message else ""
    return (
        f"# {title_of(fix)}\n{text}\n"
        "This is the message of the commit that made the change, as far as it does not give the\n"
        "change itself away. Change the project so that what it describes holds; tests that are\n"
        "not in the repository will be run on it.\n"
    )


class MinedCommit(Schema):
    """One commit, and why it is a task or not."""

    commit: str
    subject: str
    fate: CandidateOutcome
    reasons: tuple[str, ...] = ()
    candidate: bool = False  # whether it was tried, not skipped because of its changes
    task: str | None = None


class MiningLog:
    """A file with one entry per line; the last entry of a commit counts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / MINING_LOG
        self.entries: dict[str, MinedCommit] = {}
        content = self._path.read_bytes() if self._path.exists() else b""
        for number, line in enumerate(content.splitlines(), 1):
            try:
                entry = MinedCommit.model_validate_json(line)
            except ValidationError as error:
                if not line.endswith(b"}"):
                    # The last line of a killed process.
                    continue
                raise InputError(
                    f"{self._path}:{number}: is not a line of `tasks mine` ({error.error_count()} "
                    "faults); remove the file to start again"
                ) from None
            self.entries[entry.commit] = entry

    def is_settled(self, commit: str) -> bool:
        """Whether the result of a commit is final."""
        known = self.entries.get(commit)
        return known is not None and known.fate is not CandidateOutcome.UNDECIDED

    def add(self, entry: MinedCommit) -> None:
        self.entries[entry.commit] = entry
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSettings:
    """The commits to try, and the folder for the tasks."""

    origin: FixSource
    out: Path
    gate: task_validation.ValidationSettings
    tests: tuple[str, ...] = ()  # globs that match test files; none: pytest's usual names
    since: str | None = None
    until: str | None = None
    limit: int | None = None  # the most commits to try; None: all candidates
    whole_suite: bool = True


def mine(settings: MiningSettings, head: Mirror, follow: FollowRun) -> list[MinedCommit]:
    """Search the history of a mirror's HEAD, newest commit first.

    Valid tasks are moved into the folder after their validation, and each result is recorded there
    at once, so that an interrupted search can be continued.

    Raises:
        InputError: the history cannot be read, or an earlier record is damaged.
        UnavailableError: no sandbox is available.
        OSError: the folder cannot be written.
    """
    return _Miner(settings, head, follow).run()


class _Miner:
    def __init__(self, settings: MiningSettings, head: Mirror, follow: FollowRun) -> None:
        self._settings = settings
        self._head = head
        self._follow = follow
        self._ledger = MiningLog(settings.out)
        self._seen: list[str] = []

    def run(self) -> list[MinedCommit]:
        settings = self._settings
        fixes = islice(self._fixes(), settings.limit)
        while batch := list(islice(fixes, _BATCH)):
            with owned_folder(_CANDIDATES, settings.out) as folder:
                candidates, destination = {}, TaskDestination(parent=folder)
                for fix in batch:
                    try:
                        candidates[
                            write_fix_task(
                                fix, settings.origin, destination, whole_suite=settings.whole_suite
                            )
                        ] = fix
                    except InputError as error:
                        self._note(fix.commit, CandidateOutcome.REJECTED, error.faults)
                found = task_validation.validate_folders(
                    tuple(candidates), settings.gate, self._follow
                )
                for proven in found:
                    commit, outcome = candidates[proven.folder].commit, candidate_outcome(proven)
                    if outcome is CandidateOutcome.KEPT:
                        proven.folder.rename(settings.out / proven.task_id)
                        self._note(commit, outcome, (), task=proven.task_id)
                    else:
                        self._note(commit, outcome, proven.reasons)
        return [self._ledger.entries[commit] for commit in self._seen]

    def _fixes(self) -> Iterator[FixCommit]:
        """The candidates; other commits are recorded as skipped."""
        for commit in list_commits(
            self._head, since=self._settings.since, until=self._settings.until
        ):
            self._seen.append(commit.hash)
            if self._ledger.is_settled(commit.hash):
                continue
            found = split_fix(self._head, commit, tests=self._settings.tests)
            if isinstance(found, FixCommit):
                yield found
            else:
                self._note(commit, CandidateOutcome.REJECTED, [found], candidate=False)

    def _note(
        self,
        commit: Commit,
        outcome: CandidateOutcome,
        reasons: Sequence[str],
        *,
        candidate: bool = True,
        task: str | None = None,
    ) -> None:
        entry = MinedCommit(
            commit=commit.hash,
            subject=commit.subject,
            fate=outcome,
            reasons=tuple(reasons),
            candidate=candidate,
            task=task,
        )
        self._ledger.add(entry)
        if candidate:
            message = f": {'; '.join(reasons)}" if reasons else ""
            self._settings.gate.options.say(f"{commit.hash[:12]} {outcome.value}{message}")
