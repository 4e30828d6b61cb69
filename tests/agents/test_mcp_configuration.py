"""The settings of clients with a task's MCP servers."""

import json
import tomllib

import pytest

from agentbench.agents.mcp_configuration import with_servers
from agentbench.errors import UsageError
from agentbench.tasks.mcp_servers import McpServer

PROGRAM = McpServer(name="clock", transport="stdio", command="python3", args=("/opt/c.py", "-x"))
HTTP = McpServer(
    name="notes", transport="streamable-http", url="http://n:1/mcp", headers={"X-A": "1"}
)
STREAM = McpServer(name="old", url="http://o:1/sse")


def test_claude_code_has_them_beside_its_other_settings():
    made = json.loads(with_servers('{"theme": "dark"}', "claude", (PROGRAM, HTTP, STREAM)))
    assert made == {
        "theme": "dark",
        "mcpServers": {
            "clock": {
                "type": "stdio",
                "command": "python3",
                "args": ["/opt/c.py", "-x"],
                "env": {},
            },
            "notes": {"type": "http", "url": "http://n:1/mcp", "headers": {"X-A": "1"}},
            "old": {"type": "sse", "url": "http://o:1/sse", "headers": {}},
        },
    }


def test_gemini_tells_transports_by_their_keys():
    made = json.loads(with_servers("", "gemini", (PROGRAM, HTTP, STREAM)))["mcpServers"]
    assert made["clock"] == {"command": "python3", "args": ["/opt/c.py", "-x"], "trust": True}
    assert made["notes"]["httpUrl"] == "http://n:1/mcp"
    assert made["old"]["url"] == "http://o:1/sse"


def test_codex_has_tables_and_keeps_its_own():
    made = tomllib.loads(with_servers("a = 1\n[b]\nc = 2\n", "codex", (PROGRAM, HTTP)))
    assert (made["a"], made["b"]) == (1, {"c": 2})
    assert made["mcp_servers"]["clock"] == {"command": "python3", "args": ["/opt/c.py", "-x"]}
    assert made["mcp_servers"]["notes"] == {
        "url": "http://n:1/mcp",
        "http_headers": {"X-A": "1"},
    }


def test_codex_refuses_the_first_http_transport():
    with pytest.raises(UsageError, match="old speaks sse, which codex does not"):
        with_servers("", "codex", (STREAM,))
