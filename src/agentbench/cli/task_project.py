"""A task's project for the MCP server: prepared, in a sandbox that lasts as long as the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import typer

from agentbench.agents.noop import NoopAgent
from agentbench.cli.selection import select_tasks
from agentbench.errors import InputError
from agentbench.owned_folder import owned_folder
from agentbench.pytest_results.run import reporter_mounts
from agentbench.pytest_results.tool_calls.project import Project, project_in
from agentbench.runs.attempt import prepare
from agentbench.runs.places import usable_cache_dir
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.choose import choose_provider
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.stages.interface import limits_of
from agentbench.stages.preparation import PreparationCache
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.pytest_command import parse_pytest_command
from agentbench.tasks.task import Task


@contextmanager
def opened_task(folder: Path, sandbox: str) -> Iterator[Project]:
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
    chosen = choose_provider(sandbox, cache_dir=cache_dir)
    for warning in chosen.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with _opened(tasks[0], chosen.provider, cache_dir) as project:
        yield project


@contextmanager
def _opened(task: Task, provider: SandboxProvider, cache_dir: Path) -> Iterator[Project]:
    workshop = Workshop(
        provider=provider,
        mirrors=Mirrors(cache_dir / "mirrors"),
        cache=PreparationCache(cache_dir / "prepared", provider),
        cancel=Event(),
    )
    with owned_folder("agentbench-logs-") as logs:
        prepared = prepare(task, NoopAgent(), workshop, logs)
    with provider.open(
        prepared.snapshot, limits=limits_of(task), network=False, mounts=reporter_mounts()
    ) as sandbox:
        yield project_in(
            sandbox,
            parse_pytest_command(task.problem.test_command),
            env=task.environment.env,
            isolated=Promise.NO_NETWORK in provider.promises,
        )
