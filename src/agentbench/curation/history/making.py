"""One fix, made a task's folder."""

from dataclasses import dataclass
from pathlib import Path

from agentbench.curation.environments import Change, Environments
from agentbench.curation.history.candidate import Base, candidate_of, task_id_of
from agentbench.errors import UsageError
from agentbench.owned_folder import owned_folder
from agentbench.tasks.history.fix import Fix
from agentbench.tasks.history.tree import write_files_of
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.new_task import write_task
from agentbench.tasks.problem import TaskId
from agentbench.tasks.source import RepoSource
from agentbench.tasks.task_file import is_task_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a task is to be written."""

    parent: Path
    task_id: TaskId | None = None
    """None: by the repository and the commit."""
    replace: bool = False

    @classmethod
    def of(cls, folder: Path | None, *, replace: bool = False) -> "Place":
        """The folder itself; None: one below `tasks/`.

        Raises:
            UsageError: its name is no task's id.
        """
        if folder is None:
            return cls(parent=Path("tasks"), replace=replace)
        name = folder.resolve().name
        if not is_task_id(name):
            raise UsageError(f"{folder}: its name is no task's id; give one of [a-z0-9._-]+")
        return cls(parent=folder.parent, task_id=TaskId(name), replace=replace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The repository that fixes are taken from."""

    url: str
    mirrors: Mirrors
    environments: Environments
    as_files: bool
    """Whether tasks get the repository's files, and not its URL."""


def make_task(fix: Fix, origin: Origin, place: Place, *, whole_suite: bool) -> Path:
    """Find out how the tests before a fix run, and write the task's folder.

    Raises:
        InputError: they do not run in any way that was thought of, or the task would be wrong.
        UsageError: the folder is there already, or cannot be written.
        GitCloneError: the repository does not answer.
        UnavailableError: there is no sandbox to try the tests in.
    """
    mirror = origin.mirrors.of(RepoSource(url=origin.url, commit=fix.base))
    with owned_folder("agentbench-base-") as scratch:
        files, fixed = scratch / "repo", scratch / "fixed"
        write_files_of(mirror, fix.base, files)
        write_files_of(mirror, fix.commit.hash, fixed)
        change = Change(before=files, after=fixed, tests=fix.tests, on=fix.commit.date.date())
        new = candidate_of(
            fix,
            origin.environments.of(change),
            task_id=place.task_id or task_id_of(origin.url, fix),
            url=None if origin.as_files else origin.url,
            base=Base(mirror=mirror, files=files),
            whole_suite=whole_suite,
        )
        return write_task(new, place.parent, replace=place.replace)
