"""The built-in agent and a task's MCP servers: real servers of each transport, and their faults."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbench.extensions.llm.in_sandbox import mcp_client
from agentbench.extensions.llm.mcp_tools import additions_to_prompt
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.problem import Problem, TaskId
from tests.extensions.llm.conftest import called
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import sh

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("notes")
@server.tool()
def read_note(name: str) -> str:
    "The text of a note."
    if name == "none":
        raise ValueError("there is no such note")
    return f"note {name}"
transport, *port = sys.argv[1:]
server.run(transport, **({"host": "127.0.0.1", "port": int(port[0])} if port else {}))
"""
PLAIN = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    tool = {"name": "year", "description": "The year.", "inputSchema": {"type": "object"}}
    result = {"tools": [tool]} if method == "tools/list" else {
        "content": [{"type": "text", "text": "1999"}, {"type": "image", "data": "AA"}]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}), flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
CALLS = [
    ["tools/list", {}],
    ["tools/call", {"name": "read_note", "arguments": {"name": "one"}}],
    ["tools/call", {"name": "read_note", "arguments": {"name": "none"}}],
]


@contextmanager
def serving(folder: Path, transport: str) -> Iterator[McpServer]:
    """A real server of a transport."""
    script = folder / "server.py"
    script.write_text(SERVER)
    if transport == "stdio":
        yield McpServer(
            name="notes", transport="stdio", command=sys.executable, args=(str(script), "stdio")
        )
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [sys.executable, str(script), transport, str(port)]
    path = "sse" if transport == "sse" else "mcp"
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: listens(port))
            url = f"http://127.0.0.1:{port}/{path}"
            yield McpServer(name="notes", transport=transport, url=url)
        finally:
            process.kill()


def listens(port: int) -> bool:
    """Whether something does."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def asked(server: McpServer, calls) -> dict:
    """What the client in the sandbox answers, run as a program of its own."""
    request = {"server": server.model_dump(mode="json"), "calls": calls}
    source = Path(mcp_client.__file__).read_text()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", source],
        input=json.dumps(request).encode(),
        capture_output=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["stdio", "sse", "streamable-http"])
def test_a_real_server_lists_and_runs_its_tools(tmp_path, transport):
    with serving(tmp_path, transport) as server:
        listed, found, failed = asked(server, CALLS)["results"]
    assert [tool["name"] for tool in listed["tools"]] == ["read_note"]
    assert found["content"][0]["text"] == "note one"
    assert failed["isError"] is True
    assert "read_note" in failed["content"][0]["text"]


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (McpServer(name="a", transport="stdio", command="/no/such/program"), "No such file"),
        (McpServer(name="a", transport="stdio", command="true"), ""),
        (McpServer(name="a", transport="streamable-http", url="http://127.0.0.1:9/"), "refused"),
        (McpServer(name="a", url="http://127.0.0.1:9/"), "refused"),
    ],
)
def test_a_server_that_does_not_answer_is_an_error_in_words(server, said):
    answer = asked(server, CALLS)
    assert "results" not in answer
    assert said in answer["error"]


def test_an_unknown_method_is_the_servers_error(tmp_path):
    with serving(tmp_path, "stdio") as server:
        assert "error" in asked(server, [["tools/fly", {}]])


def test_the_model_is_told_of_tools_and_skills_and_calls_them(walled):
    sh(walled, f"cat > clock.py <<'EOF'\n{PLAIN}\nEOF")
    sh(
        walled,
        "mkdir -p skills/signing; printf -- '---\\nname: signing\\n' > skills/signing/SKILL.md",
    )
    clock = McpServer(
        name="clock", transport="stdio", command="python", args=(f"{walled.workspace}/clock.py",)
    )
    broken = McpServer(name="broken", transport="stdio", command="false")
    problem = Problem(
        id=TaskId("x"),
        title="x",
        instruction="x",
        test_command="pytest",
        test_timeout_s=1.0,
        mcp_servers=(clock, broken),
        skills=f"{walled.workspace}/skills",
    )
    told = additions_to_prompt(problem, walled)
    assert '"name": "year"' in told
    assert "The MCP server broken has no list of tools" in told
    assert f"{walled.workspace}/skills/signing/SKILL.md\n---\nname: signing" in told
    servers = problem.mcp_servers
    reply = called(walled, "call_mcp_tool", servers=servers, server="clock", tool="year")
    assert (reply.failed, reply.text.splitlines()[0]) == (False, "1999")
    assert called(walled, "call_mcp_tool", servers=servers, server="sun", tool="a").failed
    assert called(walled, "call_mcp_tool", servers=servers, server="broken", tool="a").failed


def test_a_task_without_servers_has_no_such_tool(walled):
    reply = called(walled, "call_mcp_tool", server="clock", tool="year")
    assert reply.failed
    assert "there is no tool 'call_mcp_tool'" in reply.text
