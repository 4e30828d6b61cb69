"""Creates a task's folder from a fix and an environment.

The instruction for the agent is the commit's message.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from agentbench.attempt.stages.preparation_stages import version_settings
from agentbench.core.files import owned_folder
from agentbench.errors import UsageError
from agentbench.tasks.fix_commit import FixCommit
from agentbench.tasks.git_trees import write_commit_files
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import RepoSource
from agentbench.tasks.task_file import RepoTable, TaskFile, is_task_id
from agentbench.tasks.writing import NewTask, write_task
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import EnvironmentFinder, RepositoryChange


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDestination:
    """The folder and the id of a new task."""

    parent: Path
    task_id: TaskId | None = None  # None: derived from the repository and the commit
    replace: bool = False

    @classmethod
    def of(cls, folder: Path | None, *, replace: bool = False) -> "TaskDestination":
        """The folder of the task; None: a new one in `tasks/`."""
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
    fix: FixCommit, origin: FixSource, place: TaskDestination, *, whole_suite: bool
) -> Path:
    """Find out how the tests before a fix run, and write the task's folder."""
    mirror = origin.mirrors.of(RepoSource(url=origin.url, commit=fix.base))
    with owned_folder("agentbench-base-") as scratch:
        files, fixed = scratch / "repo", scratch / "fixed"
        write_commit_files(mirror, fix.base, files)
        write_commit_files(mirror, fix.commit.hash, fixed)
        change = RepositoryChange(
            before=files, after=fixed, tests=fix.tests, on=fix.commit.date.date()
        )
        found = origin.environments.of(change)
        if origin.as_files:  # without a history, git knows no version
            env = {**version_settings(mirror), **found.environment.env}
            found = replace(found, environment=found.environment.model_copy(update={"env": env}))
        if not whole_suite:
            paths = tuple(str(path) for path in fix.tests)
            found = replace(found, tests=found.tests.model_copy(update={"paths": paths}))
        task_id = place.task_id or task_id_of(origin.url, fix)
        new = _new_task(fix, found, task_id, repo=files if origin.as_files else origin.url)
        return write_task(new, place.parent, replace=place.replace)


_DIGITS = 12  # of the commit's hash
_LONGEST_NAME = 80


def task_id_of(url: str, fix: FixCommit) -> TaskId:
    """An id from the repository's name and the fix's hash."""
    name = url.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2].lower()
    plain = re.sub(r"[^a-z0-9._-]+", "-", name).strip("-._")[:_LONGEST_NAME] or "repository"
    return TaskId(f"{plain}-{fix.commit.hash[:_DIGITS]}")


def _new_task(fix: FixCommit, found: Proposal, task_id: TaskId, *, repo: Path | str) -> NewTask:
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=title_of(fix),
        tags=("mined",),
        repo=RepoTable(url=repo, commit=fix.base)
        if isinstance(repo, str)
        else RepoTable(path="repo"),
        environment=found.environment,
        setup=found.setup,
        tests=found.tests,
    )
    return NewTask(
        id=task_id,
        table=table,
        instruction=instruction_of(fix),
        tests_patch=fix.tests_patch,
        solution_patch=fix.solution_patch,
        folders={} if isinstance(repo, str) else {"repo": repo},
    )


_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(-by|-to|-on)?: .*[@<].*$|^(Change-Id|PiperOrigin-RevId): ")
_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")
_LONGEST_TITLE = 200
_MIN_LINE = 12  # characters; messages often contain shorter lines of a patch, such as `else:`


def title_of(fix: FixCommit) -> str:
    """The subject of the commit, without the number of its pull request."""
    title = (
        _NUMBER.sub("", fix.commit.subject).strip() or f"The bug fixed by {fix.commit.hash[:12]}"
    )
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def instruction_of(fix: FixCommit) -> str:
    """An instruction from the message, without trailers and without lines of the patch.

    The author of a message knows the fix, so the message may say more than a user's report would.
    For a harder task, write an own instruction.
    """
    body = fix.commit.message.strip().partition("\n")[2].replace("\0", "")
    written = {
        line[1:].strip().decode("utf-8", "replace")
        for line in fix.solution_patch.splitlines()
        if line.startswith(b"+") and len(line[1:].strip()) >= _MIN_LINE
    }
    kept = [
        line.rstrip()
        for line in body.splitlines()
        if not _TRAILER.match(line) and line.strip() not in written
    ]
    told = "\n".join(kept).strip()
    text = f"\n{told}\n" if told else ""
    return (
        f"# {title_of(fix)}\n{text}\n"
        "This is the message of the commit that made the change, as far as it does not give the\n"
        "change itself away. Change the project so that what it describes holds; tests that are\n"
        "not in the repository will be run on it.\n"
    )
