"""A task's MCP servers in the settings of clients, each in its client's own form."""

import json
from collections.abc import Sequence
from typing import Literal, assert_never

from agentbench.errors import UsageError
from agentbench.tasks.mcp_servers import McpServer

McpForm = Literal["claude", "codex", "gemini"]
"""The forms of settings: Claude Code's, Codex's, and that of Gemini CLI and its relatives."""


def with_servers(text: str, form: McpForm, servers: Sequence[McpServer]) -> str:
    """A client's settings with servers.

    Args:
        text: The settings, in JSON or for Codex in TOML; empty: none.
        form: Their form.
        servers: The servers.

    Raises:
        UsageError: the client cannot reach one of them.
    """
    match form:
        case "claude":
            settings = json.loads(text or "{}")
            settings["mcpServers"] = {each.name: _for_claude(each) for each in servers}
            return json.dumps(settings, indent=1)
        case "gemini":
            settings = json.loads(text or "{}")
            settings["mcpServers"] = {each.name: _for_gemini(each) for each in servers}
            return json.dumps(settings, indent=1)
        case "codex":
            import tomlkit  # other clients need no parser of TOML

            document = tomlkit.parse(text)
            document["mcp_servers"] = {each.name: _for_codex(each) for each in servers}
            return tomlkit.dumps(document)
        case _:
            assert_never(form)


def _for_claude(server: McpServer) -> dict[str, object]:
    if server.transport == "stdio":
        return {"type": "stdio", "command": server.command, "args": list(server.args), "env": {}}
    kind = "http" if server.transport == "streamable-http" else "sse"
    return {"type": kind, "url": server.url, "headers": server.headers}


def _for_gemini(server: McpServer) -> dict[str, object]:
    if server.transport == "stdio":
        return {"command": server.command, "args": list(server.args), "trust": True}
    key = "httpUrl" if server.transport == "streamable-http" else "url"
    return {key: server.url, "headers": server.headers, "trust": True}


def _for_codex(server: McpServer) -> dict[str, object]:
    if server.transport == "stdio":
        return {"command": server.command, "args": list(server.args)}
    # Codex has no transport by server-sent events.
    if server.transport == "sse":
        raise UsageError(
            f"the MCP server {server.name} speaks sse, which codex does not: take another agent"
        )
    return {"url": server.url, "http_headers": server.headers}
