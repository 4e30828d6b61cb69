"""`agentbench mcp`: serves a project, or the project of a task, to agents.

Submitted code runs in a sandbox of its own.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import typer

from agentbench import __version__
from agentbench.attempt.context import limits_of
from agentbench.attempt.preparation import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.cli.options import select_tasks
from agentbench.cli.process_setup import ExitCode, raise_keyboard_interrupt_on_signals
from agentbench.core.extras import SYMBOLIC, is_installed
from agentbench.core.gc_tuning import restore
from agentbench.errors import InputError, SandboxError, UnavailableError
from agentbench.mcp.local_project import local_project
from agentbench.mcp.server import ErrorMode, make_server
from agentbench.mcp.symbolic_tools import SymbolicTools
from agentbench.pytest_results.execution import reporter_mounts
from agentbench.pytest_results.tool_calls.project import PytestProject, sandbox_project
from agentbench.runs.environment import default_cache_dir, usable_cache_dir
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.symbolic.sandbox import AnalysisSandboxes
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


_PREFERRED_BACK_ENDS = (
    "bubblewrap",
    "docker",
)  # a start costs 12 ms, not 200; never plain processes


def code_runner_for(sandbox: str) -> AnalysisSandboxes:
    """A laboratory in the back end of a name, or with `auto` in the first real sandbox here."""
    return AnalysisSandboxes(lambda: _connect(sandbox), default_cache_dir())


def _connect(sandbox: str) -> SandboxProvider:
    cache_dir = usable_cache_dir()
    if sandbox != "auto":
        return select_back_end(sandbox, cache_dir=cache_dir).provider
    refusals: list[str] = []
    for name in _PREFERRED_BACK_ENDS:
        try:
            return select_back_end(name, cache_dir=cache_dir).provider
        except (UnavailableError, SandboxError) as fault:
            refusals.append(f"{name}: {str(fault).partition(chr(10))[0]}")
    raise UnavailableError(f"no sandbox works here: {'; '.join(refusals)}")


MCP_TOKEN_VARIABLE = "AGENTBENCH_MCP_TOKEN"
"""Where the token of the HTTP server may be given."""

_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class McpListenOptions:
    """How clients reach the server, and how errors reach them."""

    transport: str
    host: str
    port: int
    error_mode: str


def serve_folder(
    root: Path, python: Path | None, sandbox: str, listening: McpListenOptions
) -> None:
    """Serve a project on this machine until told to stop.

    The sandbox is for submitted code; tests run in place.

    Raises:
        UsageError: there is no such folder or interpreter, or it cannot listen there.
        UnavailableError: this is no Linux.
    """
    project = local_project(root, python=python, environ=os.environ)
    _serve(project, listening, sandbox)


def serve_task(folder: Path, sandbox: str, listening: McpListenOptions) -> None:
    """Serve a task's project as an agent gets it, hidden tests not included.

    Raises:
        InputError: there is no such task.
        UnavailableError: the sandbox is not there, or the task cannot be prepared.
        UsageError: it cannot listen there.
    """
    with open_task_project(folder, sandbox) as project:
        _serve(project, listening, sandbox)


def _serve(project: PytestProject, listening: McpListenOptions, sandbox: str) -> None:
    symbolic = SymbolicTools(
        laboratory=code_runner_for(sandbox),
        mask=project.mask,
        version=__version__,
        installed=is_installed(SYMBOLIC),
    )
    error_mode = ErrorMode(listening.error_mode)
    server = make_server(project, error_mode, version=__version__, symbolic=symbolic)
    if listening.transport == "http":
        from agentbench.mcp import http_transport

        address = http_transport.HttpAddress(
            host=listening.host, port=listening.port, token=_token()
        )
        work = partial(http_transport.serve_http, server, address, _announce)
    else:
        from agentbench.mcp import stdio_transport

        work = partial(stdio_transport.serve_stdio, server)
    restore()
    raise_keyboard_interrupt_on_signals()
    try:
        anyio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _token() -> str:
    given = os.environ.get(MCP_TOKEN_VARIABLE)
    if given:
        return given
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    typer.echo(f"token: {token}", err=True)
    return token


def _announce(url: str) -> None:
    typer.echo(f"serving on {url}", err=True)
