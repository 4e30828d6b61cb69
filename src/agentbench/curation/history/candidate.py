"""A fix and an environment, put together to a task."""

import re
from dataclasses import dataclass
from pathlib import Path

from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.history.instruction import instruction_of, title_of
from agentbench.stages.setup import version_settings
from agentbench.tasks.history.fix import Fix
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.new_task import NewTask
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import RepoTable, TaskFile

_DIGITS = 12  # of the commit's hash
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The state before a fix."""

    mirror: Mirror
    files: Path
    """A folder that holds its files."""


def task_id_of(url: str, fix: Fix) -> TaskId:
    """An id of the repository's name and the fix's hash."""
    name = url.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2].lower()
    plain = re.sub(r"[^a-z0-9._-]+", "-", name).strip("-._")[:_LONGEST_NAME] or "repository"
    return TaskId(f"{plain}-{fix.commit.hash[:_DIGITS]}")


def candidate_of(
    fix: Fix,
    environment: Proposal,
    *,
    task_id: TaskId,
    url: str | None,
    base: Base,
    whole_suite: bool = True,
) -> NewTask:
    """The task that a fix makes.

    Args:
        fix: The fix.
        environment: How the repository's tests run.
        task_id: What it is called.
        url: Where its repository is fetched from; None: its files become part of the task.
        base: The commit before it.
        whole_suite: Whether all tests decide, and not only those in the files that the fix touches.
    """
    tests = environment.tests
    if not whole_suite:
        tests = tests.model_copy(update={"paths": tuple(str(path) for path in fix.tests)})
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=title_of(fix),
        tags=("mined",),
        repo=RepoTable(url=url, commit=fix.base) if url is not None else RepoTable(path="repo"),
        environment=environment.environment,
        setup=environment.setup,
        tests=tests,
    )
    if url is None:
        # Without a history there is nothing to ask for a version.
        env = {**version_settings(base.mirror), **table.environment.env}
        told = table.environment.model_copy(update={"env": env})
        table = table.model_copy(update={"environment": told})
    return NewTask(
        id=task_id,
        table=table,
        instruction=instruction_of(fix),
        tests_patch=fix.tests_patch,
        solution_patch=fix.solution_patch,
        folders={} if url is not None else {"repo": base.files},
    )
