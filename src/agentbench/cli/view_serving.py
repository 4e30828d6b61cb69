"""The web page at work: where it listens, who may look, and its end."""

import ipaddress
import os
import re
import secrets
import socket
import webbrowser
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import typer

from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.stopping import stop_on_signals
from agentbench.errors import UsageError
from agentbench.garbage import look_as_usual
from agentbench.runs.host import available_cpus
from agentbench.view.door import TOKEN_PARAMETER, Guard, is_loopback
from agentbench.view.pages import run_address
from agentbench.view.serve import serve

TOKEN_VARIABLE = "AGENTBENCH_VIEW_TOKEN"
"""Where the token of the page may be given."""

_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")  # what an address and a cookie hold as it is
_TOKEN_BYTES = 24
_BACKLOG = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPlan:
    """What the command line asks for."""

    runs: Path
    host: str
    port: int
    open_browser: bool


def serve_view(plan: ViewPlan) -> None:
    """Show a folder of runs until told to stop.

    Raises:
        UsageError: there is no such folder, the token cannot be used, or it cannot listen there.
    """
    folder, path = _shown(plan.runs)
    token = _token(plan.host)
    with closing(_listening(plan.host, plan.port)) as listener:
        port = listener.getsockname()[1]
        guard = Guard(host=plan.host, port=port, token=token)
        address = f"http://{_named(plan.host)}:{port}{path}"
        if token is not None:
            address = f"{address}?{TOKEN_PARAMETER}={token}"
        announce = partial(_announce, address, open_browser=plan.open_browser)
        work = partial(serve, folder, guard, listener, announce, processes=available_cpus())
        look_as_usual()
        stop_on_signals()
        try:
            anyio.run(work)
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


def _shown(runs: Path) -> tuple[Path, str]:
    """The folder of runs, and where in it to begin."""
    if not runs.is_dir():
        raise UsageError(
            f"{runs}: expected a folder of runs, found none; `agentbench run` makes one, or name "
            "another: agentbench view FOLDER"
        )
    whole = runs.resolve()
    if (whole / "run.json").is_file():
        return whole.parent, run_address(whole.name)
    return whole, "/"


def _token(host: str) -> str | None:
    """The token that is needed; None where nobody needs one."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        if _TOKEN.fullmatch(given) is None:
            raise UsageError(f"{TOKEN_VARIABLE}: expected letters, digits and . _ ~ - alone")
        return given
    return None if is_loopback(host) else secrets.token_urlsafe(_TOKEN_BYTES)


def _listening(host: str, port: int) -> socket.socket:
    try:
        (family, *_, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as fault:
        said = str(getattr(fault, "strerror", None) or fault).partition(" (while")[0]
        raise UsageError(
            f"cannot listen on {host}:{port}: {said}; choose another --port or --host"
        ) from fault


def _named(host: str) -> str:
    """A host as an address has it: where it is every one of this machine's, by its name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if address.version == 6 else host


def _announce(address: str, *, open_browser: bool) -> None:
    typer.echo(f"serving on {address} (Ctrl-C ends it)", err=True)
    if open_browser and not webbrowser.open(address):
        typer.echo("no browser could be opened here; open the address yourself", err=True)
