"""A client with the tools of well-known coding agents, which follows its scripted model."""

import json
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.models import conversation as talk
from agentbench.models.formats.registry import open_client
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem

_TIMEOUT = timedelta(seconds=60)
_NAMES = (
    *("Bash", "Read", "Edit", "Write"),  # Claude Code
    *("shell", "apply_patch"),  # Codex
    *("run_shell_command", "replace", "write_file"),  # Gemini CLI
    *("execute_bash", "str_replace_editor"),  # OpenHands
)
_TOOLS = tuple(
    talk.ToolSpec(name=name, description=name, schema={"type": "object"}) for name in _NAMES
)
_BASH_BLOCK = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)  # of mini-swe-agent
_WRITE = (
    "import pathlib, sys; path = pathlib.Path(sys.argv[1]); "
    "path.parent.mkdir(parents=True, exist_ok=True); path.write_text(sys.argv[2])"
)
_REPLACE = (
    "import pathlib, sys; path = pathlib.Path(sys.argv[1]); text = path.read_text(); "
    "assert text.count(sys.argv[2]) == 1; path.write_text(text.replace(*sys.argv[2:4]))"
)


@dataclass(frozen=True, slots=True)
class ClientAgent:
    """Runs each call of the model, and ends when an answer has none.

    The end is `ending`, so that a row need not wait for a limit of time or money.
    """

    ending: AgentEnding = AgentEnding.SUBMITTED
    name: str = "client"
    needs_model: bool = True

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Follow the model."""
        assert model is not None
        conversation = talk.Conversation(system="You fix bugs.", task=problem.instruction)
        steps = calls = 0
        with open_client(model) as client:
            while True:
                answer = client.complete(conversation, _TOOLS, timeout=budget.remaining())
                steps += 1
                calls += len(answer.tool_calls)
                blocks = _BASH_BLOCK.findall(answer.text)
                if not answer.tool_calls and not blocks:
                    break
                turn = talk.ConversationTurn(
                    answer=answer,
                    replies=tuple(
                        talk.ToolReply(text=_use(sandbox, call.name, json.loads(call.arguments)))
                        for call in answer.tool_calls
                    ),
                    note="\n".join(_run(sandbox, "bash", "-c", block) for block in blocks),
                )
                conversation = replace(conversation, turns=(*conversation.turns, turn))
        return AgentOutcome(ending=self.ending, steps=steps, tool_calls=calls)


def _use(sandbox: Sandbox, name: str, arguments: dict[str, Any]) -> str:
    match name, arguments:
        case (("Bash" | "execute_bash" | "run_shell_command"), {"command": command}):
            return _run(sandbox, "bash", "-c", command)
        case "shell", {"command": [*words]}:
            return _run(sandbox, *words)
        case "Read", {"file_path": path}:
            return _run(sandbox, "cat", "-n", path)
        case "str_replace_editor", {"command": "view", "path": path}:
            return _run(sandbox, "cat", "-n", path)
        case (("Write" | "write_file"), {"file_path": path, "content": text}):
            return _run(sandbox, "python3", "-c", _WRITE, path, text)
        case "str_replace_editor", {"command": "create", "path": path, "file_text": text}:
            return _run(sandbox, "python3", "-c", _WRITE, path, text)
        case (("Edit" | "replace"), {"file_path": path, "old_string": old, "new_string": new}):
            return _run(sandbox, "python3", "-c", _REPLACE, path, old, new)
        case "str_replace_editor", {"path": path, "old_str": old, "new_str": new}:
            return _run(sandbox, "python3", "-c", _REPLACE, path, old, new)
        case "apply_patch", {"input": patch}:
            return _apply(sandbox, patch)
    raise ValueError(f"{name} does not take {sorted(arguments)}")


def _apply(sandbox: Sandbox, patch: str) -> str:
    """Apply a patch of one hunk in Codex's form."""
    _begin, head, *lines, _end = patch.splitlines()
    path = head.removeprefix("*** Update File: ")
    hunk = [line for line in lines if not line.startswith("@@")]
    old, new = ("\n".join(each[1:] for each in hunk if each[0] in kept) for kept in (" -", " +"))
    return _run(sandbox, "python3", "-c", _REPLACE, path, old, new) or "Success."


def _run(sandbox: Sandbox, *argv: str) -> str:
    ran = sandbox.run(Command(argv=argv, timeout=_TIMEOUT))
    text = ran.stdout + ran.stderr
    return text if ran.exit_code == 0 else f"{text}\nExit code: {ran.exit_code}"
