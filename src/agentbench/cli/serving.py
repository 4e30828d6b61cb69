"""The MCP server at work: opens what it serves, and closes it when told to stop."""

import os
import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import typer

from agentbench import __version__
from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.laboratory import laboratory_for
from agentbench.cli.stopping import stop_on_signals
from agentbench.extras import SYMBOLIC, is_there
from agentbench.garbage import look_as_usual
from agentbench.mcp.project import project_here
from agentbench.mcp.server import ErrorMode, make_server
from agentbench.mcp.symbolic_tools import Symbolic
from agentbench.pytest_results.tool_calls.project import Project

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


def serve_folder(root: Path, python: Path | None, sandbox: str, listening: Listening) -> None:
    """Serve a project on this machine until told to stop.

    The sandbox is for code that is handed in: tests run in place.

    Raises:
        UsageError: there is no such folder or interpreter, or it cannot listen there.
        UnavailableError: this is no Linux.
    """
    project = project_here(root, python=python, environ=os.environ)
    _serve(project, listening, sandbox)


def serve_task(folder: Path, sandbox: str, listening: Listening) -> None:
    """Serve a task's project as an agent gets it, hidden tests not included.

    Raises:
        InputError: there is no such task.
        UnavailableError: the sandbox is not there, or the task cannot be prepared.
        UsageError: it cannot listen there.
    """
    from agentbench.cli.task_project import opened_task

    with opened_task(folder, sandbox) as project:
        _serve(project, listening, sandbox)


def _serve(project: Project, listening: Listening, sandbox: str) -> None:
    symbolic = Symbolic(
        laboratory=laboratory_for(sandbox),
        mask=project.mask,
        version=__version__,
        installed=is_there(SYMBOLIC),
    )
    error_mode = ErrorMode(listening.error_mode)
    server = make_server(project, error_mode, version=__version__, symbolic=symbolic)
    if listening.transport == "http":
        from agentbench.mcp import over_http

        address = over_http.Address(host=listening.host, port=listening.port, token=_token())
        work = partial(over_http.serve, server, address, _announce)
    else:
        from agentbench.mcp import over_stdio

        work = partial(over_stdio.serve, server)
    look_as_usual()
    stop_on_signals()
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
