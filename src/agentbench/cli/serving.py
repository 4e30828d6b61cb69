"""The MCP server at work: opens what it serves, and closes it when told to stop."""

import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import anyio
import typer

from agentbench import __version__
from agentbench.agents.noop import NoopAgent
from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.selection import select_tasks
from agentbench.errors import InputError
from agentbench.mcp.project import Project, project_here, project_in
from agentbench.mcp.server import ErrorMode, make_server
from agentbench.pytest_results.run import reporter_mounts
from agentbench.runs.attempt import Workshop, prepare
from agentbench.runs.places import usable_cache_dir
from agentbench.sandbox.choose import Chosen, choose_provider
from agentbench.sandbox.interface import Limits, Promise
from agentbench.stages.preparation import PreparationCache
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.pytest_command import parse_pytest_command

if TYPE_CHECKING:
    from agentbench.tasks.task import Task

TOKEN_VARIABLE = "AGENTBENCH_MCP_TOKEN"
"""Where the token of the HTTP server may be given."""

_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """How clients reach the server, and how errors reach them."""

    transport: str
    host: str
    port: int
    error_mode: str


def serve_folder(root: Path, python: Path | None, listening: Listening) -> None:
    """Serve a project on this machine until told to stop.

    Raises:
        UsageError: there is no such folder or interpreter, or it cannot listen there.
    """
    _serve(project_here(root, python=python, environ=os.environ), listening)


def serve_task(folder: Path, sandbox: str, listening: Listening) -> None:
    """Serve a task's project as an agent gets it, hidden tests not included.

    Raises:
        InputError: there is no such task.
        UnavailableError: the sandbox is not there, or the task cannot be prepared.
        UsageError: it cannot listen there.
    """
    cache_dir = usable_cache_dir()
    tasks = select_tasks([folder], cache_dir=cache_dir)
    if len(tasks) != 1:
        raise InputError(f"--task: expected one task, found {len(tasks)} in {folder}")
    chosen = choose_provider(sandbox, cache_dir=cache_dir)
    for warning in chosen.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with _opened(tasks[0], chosen, cache_dir) as project:
        _serve(project, listening)


@contextmanager
def _opened(task: "Task", chosen: Chosen, cache_dir: Path) -> Iterator[Project]:
    provider, environment = chosen.provider, task.environment
    workshop = Workshop(
        provider=provider,
        mirrors=Mirrors(cache_dir / "mirrors"),
        cache=PreparationCache(cache_dir / "prepared", provider),
        cancel=Event(),
    )
    with tempfile.TemporaryDirectory(prefix="agentbench-logs-") as logs:
        prepared = prepare(task, NoopAgent(), workshop, Path(logs))
    limits = Limits(
        cpus=environment.cpus,
        memory_mib=environment.memory_mib,
        pids=environment.pids,
        disk_mib=environment.disk_mib,
    )
    with provider.open(
        prepared.snapshot, limits=limits, network=False, mounts=reporter_mounts()
    ) as sandbox:
        yield project_in(
            sandbox,
            parse_pytest_command(task.problem.test_command),
            env=environment.env,
            isolated=Promise.NO_NETWORK in provider.promises,
        )


def _serve(project: Project, listening: Listening) -> None:
    server = make_server(project, ErrorMode(listening.error_mode), version=__version__)
    if listening.transport == "http":
        from agentbench.mcp import over_http

        address = over_http.Address(host=listening.host, port=listening.port, token=_token())
        work = partial(over_http.serve, server, address, _announce)
    else:
        from agentbench.mcp import over_stdio

        work = partial(over_stdio.serve, server)
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        anyio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _token() -> str:
    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        return given
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    typer.echo(f"token: {token}", err=True)
    return token


def _announce(url: str) -> None:
    typer.echo(f"serving on {url}", err=True)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """The event loop ends cleanly on Ctrl-C, and so do sandboxes."""
    del number, frame
    signal.raise_signal(signal.SIGINT)
