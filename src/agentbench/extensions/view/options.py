"""The options of `agentbench view`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewServerOptions:
    """The options of `agentbench view`."""

    runs: Annotated[Path, typer.Argument(help="The folder of runs, or of one run.")] = Path("runs")
    host: options.Host = "127.0.0.1"
    port: Annotated[
        int, typer.Option("--port", help="The port; 0: any free one.", min=0, max=65535)
    ] = 8766
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = False
