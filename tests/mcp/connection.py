"""Real servers in processes of their own, and the SDK's own client connected to them."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.patience import HANG_SECONDS

TOKEN = "a-token-for-tests"
ENVIRON = {**os.environ, "AGENTBENCH_MCP_TOKEN": TOKEN}
_SET_LATER = ("AGENTBENCH_CACHE",)  # by a fixture, when this is imported already

START = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


def command_for(root, *options):
    """The program as a user starts it."""
    return [sys.executable, "-m", "agentbench", "mcp", "--root", str(root), *options]


def misfit_command(root, python, mode, transport):
    """The server that lacks pytest and has a bug."""
    script = str(Path(__file__).with_name("misfit_server.py"))
    return [sys.executable, script, str(root), str(python), mode, transport]


class Session:
    """A connected client that is called from ordinary code."""

    def __init__(self, portal, client):
        self.portal = portal
        self.client = client

    def call(self, tool, arguments=None, **options):
        """Call a tool; a protocol error comes back as the exception."""
        try:
            return self.portal.call(lambda: self.client.call_tool(tool, arguments, **options))
        except MCPError as error:
            return error


@contextmanager
def over_stdio(command, mode="auto", errlog=None, **more):
    """A client of a server that it started itself, with more in its environment."""
    environ = {**ENVIRON, **{name: os.environ[name] for name in _SET_LATER if name in os.environ}}
    server = StdioServerParameters(
        command=command[0], args=command[1:], env={**environ, **more}, cwd=Path.cwd()
    )
    if errlog is not None:
        from mcp.client.stdio import stdio_client

        server = stdio_client(server, errlog=errlog)
    with connected(server, mode) as session:
        yield session


@contextmanager
def over_http(command, mode="auto"):
    """A client of a server that listens on a free port."""
    with listening(command) as url, client_of(url, mode) as session:
        yield session


@contextmanager
def client_of(url, mode="auto", token=TOKEN):
    """A client of a server that runs already."""
    with start_blocking_portal() as portal:
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"}, timeout=HANG_SECONDS
        )
        with (
            portal.wrap_async_context_manager(http),
            portal.wrap_async_context_manager(
                Client(streamable_http_client(url, http_client=http), mode=mode)
            ) as client,
        ):
            yield Session(portal, client)


@contextmanager
def connected(server, mode="auto"):
    """A client of whatever the SDK can connect to."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, mode=mode)) as client,
    ):
        yield Session(portal, client)


@contextmanager
def listening(command):
    """The URL of a server over HTTP, as it tells it on stderr; it is told to stop at the end."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRON)
    with ExitStack() as keep:
        keep.callback(process.stderr.close)
        keep.callback(process.wait, HANG_SECONDS)
        keep.callback(process.send_signal, signal.SIGTERM)
        for line in process.stderr:
            if found := re.search(r"serving on (\S+)", line):
                break
        else:
            raise AssertionError("the server ended before it served")
        yield found[1]
