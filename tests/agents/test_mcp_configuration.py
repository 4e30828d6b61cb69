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


def test_servers_are_added_to_settings_of_claude():
    created = json.loads(with_servers('{"theme": "dark"}', "claude", (PROGRAM, HTTP, STREAM)))
    assert created == {
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


def test_gemini_has_one_key_for_each_transport():
    created = json.loads(with_servers("", "gemini", (PROGRAM, HTTP, STREAM)))["mcpServers"]
    assert created["clock"] == {"command": "python3", "args": ["/opt/c.py", "-x"], "trust": True}
    assert created["notes"]["httpUrl"] == "http://n:1/mcp"
    assert created["old"]["url"] == "http://o:1/sse"


def test_servers_are_added_to_toml_of_codex():
    created = tomllib.loads(with_servers("a = 1\n[b]\nc = 2\n", "codex", (PROGRAM, HTTP)))
    assert (created["a"], created["b"]) == (1, {"c": 2})
    assert created["mcp_servers"]["clock"] == {"command": "python3", "args": ["/opt/c.py", "-x"]}
    assert created["mcp_servers"]["notes"] == {
        "url": "http://n:1/mcp",
        "http_headers": {"X-A": "1"},
    }


def test_codex_refuses_sse():
    with pytest.raises(UsageError, match="old speaks sse, which codex does not"):
        with_servers("", "codex", (STREAM,))
