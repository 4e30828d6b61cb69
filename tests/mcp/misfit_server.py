"""A real server that lacks pytest and has a bug: python misfit_server.py ROOT PYTHON MODE HOW."""

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from agentbench.mcp import transports
from agentbench.mcp.error_mode import ErrorMode
from agentbench.mcp.local_project import local_project
from agentbench.mcp.server import make_server


def broken(paths):
    raise ZeroDivisionError(f"a bug at {__file__} with {paths}")


def main(root, python, mode, transport):
    project = local_project(Path(root), python=Path(python), environ=os.environ)
    server = make_server(replace(project, resolve=broken), ErrorMode(mode), version="0")
    if transport == "stdio":
        anyio.run(transports.serve_stdio, server)
        return
    address = transports.HttpAddress(
        host="127.0.0.1", port=0, token=os.environ["AGENTBENCH_MCP_TOKEN"]
    )
    tell = partial(print, "serving on", file=sys.stderr, flush=True)
    anyio.run(transports.serve_http, server, address, tell)


if __name__ == "__main__":
    main(*sys.argv[1:])
