"""A task's project for the MCP server: prepared, in a sandbox that lasts as long as the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from agentbench.attempt.context import limits_of
from agentbench.attempt.preparation import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.cli.options import select_tasks
from agentbench.errors import InputError
from agentbench.pytest_results.command import reporter_mounts
from agentbench.pytest_results.tool_calls.project import PytestProject, sandbox_project
from agentbench.runs.environment import usable_cache_dir
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import Task


@contextmanager
def open_task_project(folder: Path, sandbox: str) -> Iterator[PytestProject]:
    """The project of the one task in a folder, in a sandbox, without its hidden tests.

    Raises:
        InputError: there is no such task, or there are several.
        UnavailableError: the sandbox is not there, or the task cannot be prepared.
        UsageError: there is no sandbox of that name, or no folder for what is kept.
    """
    cache_dir = usable_cache_dir()
    tasks = select_tasks([folder], cache_dir=cache_dir)
    if len(tasks) != 1:
        raise InputError(f"--task: expected one task, found {len(tasks)} in {folder}")
    chosen = select_back_end(sandbox, cache_dir=cache_dir)
    for warning in chosen.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with _open_prepared(tasks[0], chosen.provider, cache_dir) as project:
        yield project


@contextmanager
def _open_prepared(
    task: Task, provider: SandboxProvider, cache_dir: Path
) -> Iterator[PytestProject]:
    resources = RunResources.of(provider, RunSettings(), cache_dir=cache_dir)
    prepared = prepare_task(task, resources).prepared
    with provider.open(
        prepared.snapshot, limits=limits_of(task), network=False, mounts=reporter_mounts()
    ) as sandbox:
        yield sandbox_project(
            sandbox,
            parse_pytest_command(task.problem.test_command),
            env=task.environment.env,
            isolated=Promise.NO_NETWORK in provider.promises,
        )
