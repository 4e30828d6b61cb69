"""`agentbench view`."""

from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.extras import VIEW, require


def view(
    runs: Annotated[
        Path, typer.Argument(help="The folder of runs, or the folder of one of them.")
    ] = Path("runs"),
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", help="0: any that is free.", min=0, max=65535)
    ] = 8766,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Show runs as a web page: attempts, why each failed, patches, comparisons; live.

    It reads the folder and changes nothing. Beyond loopback whoever looks needs the token in
    AGENTBENCH_VIEW_TOKEN, or the one that is made up and shown in the address at the start; where
    that variable is set, it is needed on loopback, too.

    Example: agentbench view runs/ --open
    """
    del debug  # read by the program itself
    require("the web page", VIEW)
    from agentbench.cli.view_serving import ViewPlan, serve_view

    serve_view(ViewPlan(runs=runs, host=host, port=port, open_browser=open_browser))
