"""A task's MCP servers and skills for the built-in agent: a part of its prompt, and a tool.

A client in the sandbox speaks to the servers, since only the sandbox reaches them. A server that is
a program is started again for each call.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from importlib.resources import files

from pydantic import Field, JsonValue, ValidationError

from agentbench.core.schema import Schema
from agentbench.core.untrusted_json import cut_middle
from agentbench.extensions.llm.tool import Tool, ToolContext, ToolEffect
from agentbench.models.conversation import ToolReply
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.problem import Problem
from agentbench.test_tools.agent_texts import ToolText, escape_control
from agentbench.test_tools.arguments import ToolArguments

_CLIENT = "agentbench.extensions.llm.in_sandbox"
_TIMEOUT = timedelta(seconds=120)
_MAX_REPLY = 40_000  # characters
_MAX_LISTED = 8_000  # characters, of each server and of the skills
_HEAD_OF_SKILLS = """
for file in "$1"/*/SKILL.md; do
  [ -f "$file" ] && printf '%s\\n' "$file" && head -n 12 "$file" && echo
done
"""


class McpArguments(ToolArguments):
    """The arguments of `call_mcp_tool`."""

    server: ToolText = Field(min_length=1, description="The server's name.")
    tool: ToolText = Field(min_length=1, description="The name of its tool.")
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="The tool's arguments."
    )


class _ClientAnswer(Schema):
    results: list[JsonValue] | None = None
    error: str | None = None


def _call(context: ToolContext, arguments: McpArguments) -> ToolReply:
    for server in context.mcp_servers:
        if server.name == arguments.server:
            given: dict[str, JsonValue] = {
                "name": arguments.tool,
                "arguments": arguments.arguments,
            }
            answer = _ask(server, context.sandbox, [("tools/call", given)])
            if answer.results is None:
                return ToolReply(text=_shown(answer.error or "no answer"), failed=True)
            return _reply_of(answer.results[0])
    known = ", ".join(server.name for server in context.mcp_servers)
    return ToolReply(text=f"there is no such server; known: {known}", failed=True)


CALL_MCP_TOOL = Tool(
    name="call_mcp_tool",
    description="Call a tool of one of the task's MCP servers.",
    arguments=McpArguments,
    act=_call,
    effect=ToolEffect.CHANGES,
)


def additions_to_prompt(problem: Problem, sandbox: Sandbox) -> str:
    """The part of the prompt about the task's servers and skills; empty if there are none.

    Raises:
        SandboxError: the sandbox is lost.
    """
    parts = [_description(server, sandbox) for server in problem.mcp_servers]
    if problem.skills is not None:
        argv = ("sh", "-c", _HEAD_OF_SKILLS, "sh", problem.skills)
        found = sandbox.run(Command(argv=argv, timeout=_TIMEOUT)).stdout.strip()
        if found:
            head = f"Skills are in {problem.skills}; read a file before you do what it is about:"
            parts.append(f"{head}\n{cut_middle(escape_control(found), _MAX_LISTED)}")
    return "\n\n".join(parts)


def _description(server: McpServer, sandbox: Sandbox) -> str:
    answer = _ask(server, sandbox, [("tools/list", {})])
    found = answer.results[0] if answer.results else None
    tools = found.get("tools") if isinstance(found, dict) else None
    if not isinstance(tools, list):
        what = answer.error or "it lists no tools"
        return f"The MCP server {server.name} has no list of tools ({_shown(what)})."
    lines = "\n".join(json.dumps(tool) for tool in tools)
    listed = cut_middle(escape_control(lines), _MAX_LISTED)
    return f"The MCP server {server.name} has these tools, for call_mcp_tool:\n{listed}"


def _ask(
    server: McpServer, sandbox: Sandbox, calls: Sequence[tuple[str, dict[str, JsonValue]]]
) -> _ClientAnswer:
    request = {"server": server.model_dump(mode="json"), "calls": calls}
    source = files(_CLIENT).joinpath("mcp_client.py").read_text("utf-8")
    result = sandbox.run(
        Command(
            argv=("python", "-I", "-S", "-B", "-c", source),
            timeout=_TIMEOUT,
            stdin=json.dumps(request).encode(),
        )
    )
    try:
        return _ClientAnswer.model_validate_json(result.stdout)
    except ValidationError:
        lines = (result.stderr or result.stdout).strip().splitlines()
        return _ClientAnswer(error=lines[-1] if lines else result.ending.value)


def _reply_of(result: JsonValue) -> ToolReply:
    """The texts of a result; other contents are shown as JSON."""
    parts = result.get("content") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(parts, list):
        return ToolReply(text=_shown(json.dumps(result)))
    texts = [
        str(part["text"]) if isinstance(part, dict) and "text" in part else json.dumps(part)
        for part in parts
    ]
    return ToolReply(text=_shown("\n".join(texts)), failed=result.get("isError") is True)


def _shown(text: str) -> str:
    return cut_middle(escape_control(text), _MAX_REPLY)
