"""The options of the two servers, and the loop that runs one until it is interrupted."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode, raise_keyboard_interrupt_on_signals
from agentbench.mcp.error_mode import ErrorMode
from agentbench.sandbox.back_ends import SandboxName


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayServerOptions:
    """The options of `agentbench gateway`."""

    model: options.Model = None  # not needed for a replay
    base_url: options.BaseUrl = None
    port: Annotated[
        int,
        typer.Option("--port", help="The port on 127.0.0.1; 0: any free one.", min=0, max=65535),
    ] = 0
    socket: Annotated[
        Path | None, typer.Option("--socket", help="The path of a unix socket to create instead.")
    ] = None
    max_cost: Annotated[
        float,
        typer.Option("--max-cost", help="Refuse requests once this many USD are spent.", min=0),
    ] = math.inf
    prices: options.Prices = None
    record: options.Record = None
    replay: options.Replay = None
    log: Annotated[
        Path | None, typer.Option("--log", help="Write every request and answer to this file.")
    ] = None
    no_probe: options.NoProbe = False
    as_json: options.Json = False


class McpTransport(StrEnum):
    """The values of `--transport`."""

    STDIO = "stdio"
    HTTP = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerOptions:
    """The options of `agentbench mcp`."""

    root: Annotated[
        Path, typer.Option("--root", help="A project on this machine, tested in place.")
    ] = Path()
    python: Annotated[
        Path | None,
        typer.Option(
            "--python", help="Its interpreter or environment; default: found automatically."
        ),
    ] = None
    task: Annotated[
        Path | None,
        typer.Option(
            "--task", help="A task, whose project is served from its own sandbox instead."
        ),
    ] = None
    sandbox: options.Sandbox = SandboxName.AUTO
    transport: Annotated[
        McpTransport,
        typer.Option("--transport", help="The transport between clients and the server."),
    ] = McpTransport.STDIO
    host: Annotated[
        str, typer.Option("--host", help="With --transport http: the address to listen on.")
    ] = "127.0.0.1"
    port: Annotated[
        int,
        typer.Option(
            "--port", help="With --transport http: the port; 0: any free one.", min=0, max=65535
        ),
    ] = 8765
    error_mode: Annotated[
        ErrorMode, typer.Option("--error-mode", help="Errors as results, or as JSON-RPC errors.")
    ] = ErrorMode.STRUCTURED


def run_until_interrupted(server: Callable[[], Awaitable[None]]) -> None:
    """Run a server until Ctrl-C or SIGTERM, then exit with code 130."""
    import anyio

    raise_keyboard_interrupt_on_signals()
    try:
        anyio.run(server)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
