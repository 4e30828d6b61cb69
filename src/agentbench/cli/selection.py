"""From what a command was told to the tasks and numbers it means."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from agentbench.tasks.task import Task


def select_tasks(
    paths: Sequence[Path],
    *,
    cache_dir: Path,
    glob: str | None = None,
    tag: str | None = None,
    limit: int | None = None,
) -> "list[Task]":
    """Load tasks and narrow them down; odd things on the way are said on stderr.

    Raises:
        InputError: a task is wrong, or none is left.
    """
    from agentbench.tasks.load import load_tasks
    from agentbench.tasks.mirror import Mirrors

    catalogue = load_tasks(paths, mirrors=Mirrors(cache_dir / "mirrors"))
    for warning in catalogue.warnings:
        typer.echo(f"warning: {warning}", err=True)
    chosen = [
        task
        for task in catalogue.tasks
        if (glob is None or fnmatchcase(task.id, glob))
        and (tag is None or tag in task.problem.tags)
    ]
    if not chosen:
        known = ", ".join(task.id for task in catalogue.tasks)
        raise InputError(f"no task fits --filter {glob} and --tag {tag}; there are: {known}")
    return chosen[:limit]


def number_of_jobs(text: str) -> int | None:
    """What `--jobs` says; `None` for auto.

    Raises:
        UsageError: it is neither `auto` nor a number above 0.
    """
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UsageError(f"--jobs: expected auto or a number above 0, found {text!r}")
    return int(text)
