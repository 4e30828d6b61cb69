"""`agentbench mcp`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.errors import UsageError
from agentbench.extras import MCP, require


class Transport(StrEnum):
    """What `--transport` takes."""

    STDIO = "stdio"
    HTTP = "http"


class ErrorModeName(StrEnum):
    """What `--error-mode` takes."""

    STRUCTURED = "structured"
    JSONRPC = "jsonrpc"


def mcp(
    root: Annotated[
        Path, typer.Option("--root", help="A project on this machine, tested in place.")
    ] = Path(),
    python: Annotated[
        Path | None,
        typer.Option("--python", help="Its interpreter or environment; default: it is looked for."),
    ] = None,
    task: Annotated[
        Path | None,
        typer.Option("--task", help="A task instead: its project, in a sandbox of its own."),
    ] = None,
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    transport: Annotated[
        Transport, typer.Option("--transport", help="How clients reach the server.")
    ] = Transport.STDIO,
    host: Annotated[str, typer.Option("--host", help="With http: where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", help="With http; 0: any that is free.", min=0, max=65535)
    ] = 8765,
    error_mode: Annotated[
        ErrorModeName,
        typer.Option("--error-mode", help="Errors as results, or as JSON-RPC errors."),
    ] = ErrorModeName.STRUCTURED,
    debug: options.Debug = False,
) -> None:
    """Serve tests over the Model Context Protocol: execute_tests, discover_tests, explain_failure.

    With the extra symbolic, also symbolic_check, find_path_to_exception, compare_functions and
    analyze_branches, on code that a client hands in: it runs in the --sandbox, never here.

    With --transport http, clients need the token in AGENTBENCH_MCP_TOKEN, or the one that is
    made up and shown at the start.

    Example: agentbench mcp --root .
    """
    del debug  # read by the program itself
    require("the MCP server", MCP)
    from agentbench.cli.serving import Listening, serve_folder, serve_task

    listening = Listening(
        transport=transport.value, host=host, port=port, error_mode=error_mode.value
    )
    if task is None:
        serve_folder(root, python, sandbox.value, listening)
    elif python is not None:
        raise UsageError("--python goes with --root: a task brings its own environment")
    else:
        serve_task(task, sandbox.value, listening)
