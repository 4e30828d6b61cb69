"""`agentbench view`: the address of the web page, its token, and its end."""

import webbrowser
from contextlib import closing
from functools import partial

import typer

from agentbench.cli.serve.listening import access_policy, host_in_url, listen, required_token
from agentbench.cli.serve.server_options import run_until_interrupted
from agentbench.errors import UsageError
from agentbench.extensions.view.app import make_app, serve
from agentbench.extensions.view.auth_guard import TOKEN_PARAMETER
from agentbench.extensions.view.options import ViewServerOptions
from agentbench.extensions.view.rendering import run_address

VIEW_TOKEN_VARIABLE = "AGENTBENCH_VIEW_TOKEN"


def serve_view(settings: ViewServerOptions) -> None:
    """Show a folder of runs until told to stop.

    Raises:
        UsageError: there is no such folder, the token cannot be used, or it cannot listen there.
    """
    runs = settings.runs
    if not runs.is_dir():
        raise UsageError(
            f"{runs}: expected a folder of runs, found none; `agentbench run` creates one, or "
            "name another: agentbench view FOLDER"
        )
    # The folder of one run is shown as a page of the folder around it.
    folder, path = runs.resolve(), "/"
    if (folder / "run.json").is_file():
        folder, path = folder.parent, run_address(folder.name)
    token = required_token(settings.host, VIEW_TOKEN_VARIABLE)
    with closing(listen(settings.host, settings.port)) as listener:
        guard = access_policy(settings.host, listener, token)
        address = f"http://{host_in_url(settings.host)}:{guard.port}{path}"
        if token is not None:
            address = f"{address}?{TOKEN_PARAMETER}={token}"

        def announce() -> None:
            typer.echo(f"serving on {address} (Ctrl-C ends it)", err=True)
            if settings.open_browser and not webbrowser.open(address):
                typer.echo("no browser could be opened here; open the address yourself", err=True)

        app = make_app(folder, guard)
        run_until_interrupted(partial(serve, app, listener, announce))
