"""`agentbench view`: the address of the web page, its token, and its end."""

import ipaddress
import os
import re
import secrets
import socket
import webbrowser
from contextlib import closing
from functools import partial
from pathlib import Path

import typer

from agentbench.cli.serve.server_options import ViewServerOptions, run_until_interrupted
from agentbench.core.host import available_cpus
from agentbench.errors import UsageError
from agentbench.view.app import make_app, serve
from agentbench.view.auth_guard import TOKEN_PARAMETER, AccessPolicy, is_loopback
from agentbench.view.rendering import run_address

VIEW_TOKEN_VARIABLE = "AGENTBENCH_VIEW_TOKEN"
"""The variable with the token of the page."""

_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")  # characters that an address and a cookie need not quote
_TOKEN_BYTES = 24
_BACKLOG = 128


def serve_view(settings: ViewServerOptions) -> None:
    """Show a folder of runs until told to stop.

    Raises:
        UsageError: there is no such folder, the token cannot be used, or it cannot listen there.
    """
    folder, path = _runs_folder(settings.runs)
    token = _token(settings.host)
    with closing(_listen(settings.host, settings.port)) as listener:
        port = listener.getsockname()[1]
        guard = AccessPolicy(host=settings.host, port=port, token=token)
        address = f"http://{_host_in_url(settings.host)}:{port}{path}"
        if token is not None:
            address = f"{address}?{TOKEN_PARAMETER}={token}"
        announce = partial(_announce, address, open_browser=settings.open_browser)
        app = make_app(folder, guard, processes=available_cpus())
        run_until_interrupted(partial(serve, app, listener, announce))


def _runs_folder(runs: Path) -> tuple[Path, str]:
    """The folder of runs, and the page to begin with."""
    if not runs.is_dir():
        raise UsageError(
            f"{runs}: expected a folder of runs, found none; `agentbench run` creates one, or "
            "name another: agentbench view FOLDER"
        )
    whole = runs.resolve()
    if (whole / "run.json").is_file():
        return whole.parent, run_address(whole.name)
    return whole, "/"


def _token(host: str) -> str | None:
    """The required token; None if none is."""
    configured_token = os.environ.get(VIEW_TOKEN_VARIABLE)
    if configured_token:
        if _TOKEN.fullmatch(configured_token) is None:
            raise UsageError(f"{VIEW_TOKEN_VARIABLE}: expected only letters, digits and . _ ~ -")
        return configured_token
    return None if is_loopback(host) else secrets.token_urlsafe(_TOKEN_BYTES)


def _listen(host: str, port: int) -> socket.socket:
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as fault:
        reason = str(getattr(fault, "strerror", None) or fault).partition(" (while")[0]
        raise UsageError(
            f"cannot listen on {host}:{port}: {reason}; choose another --port or --host"
        ) from fault


def _host_in_url(host: str) -> str:
    """A host as written in a URL; this machine's name if it stands for all its addresses."""
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
