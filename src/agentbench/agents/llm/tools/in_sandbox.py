"""Does a task on files inside the sandbox: the modules that know how travel with the call."""

import json
from datetime import timedelta
from importlib.resources import files

from pydantic import ValidationError

from agentbench.agents.llm.conversation import Reply
from agentbench.agents.llm.tools.safe_text import visible
from agentbench.agents.llm.tools.tool import Desk
from agentbench.pytest_results.budget import cut_middle
from agentbench.pytest_results.tool_calls.arguments import Arguments
from agentbench.sandbox.interface import Command
from agentbench.schema import Schema
from agentbench.scoring.evidence import CommandResult, Ending

WITHIN = timedelta(seconds=60)
"""For one task."""

SHOWN_LIMIT = 40_000
"""Characters of a reply, whatever names of files make of it."""

PACKAGE = "agentbench.agents.llm.tools.inside"
"""What runs inside."""

MODULES = ("paths", "reading", "editing", "looking", "dispatch")
"""Of the package, each after those that it imports."""

_LOAD = """
import json, sys, types
call = json.loads(sys.stdin.buffer.read().decode())
for name, source in call["modules"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
print(module.answer(call["task"], call["root"], call["given"]))
"""


class _Told(Schema):
    text: str | None = None
    error: str | None = None


def in_sandbox(desk: Desk, task: str, arguments: Arguments) -> Reply:
    """Do a task; a path that leads out of the workspace is refused by whoever follows it.

    Raises:
        SandboxError: the sandbox is lost.
    """
    call = {
        "modules": [(f"{PACKAGE}.{name}", source_of(name)) for name in MODULES],
        "task": task,
        "root": str(desk.sandbox.workspace),
        "given": arguments.model_dump(mode="json"),
    }
    result = desk.sandbox.run(
        Command(
            argv=("python", "-I", "-S", "-B", "-c", _LOAD),
            timeout=WITHIN,
            stdin=json.dumps(call).encode(),
        )
    )
    try:
        told = _Told.model_validate_json(result.stdout) if result.ok else None
    except ValidationError:
        told = None
    if told is None:
        return Reply(text=f"{task} {_how_it_ended(result)}", failed=True)
    said = told.error or "" if told.text is None else told.text
    return Reply(text=cut_middle(visible(said), SHOWN_LIMIT), failed=told.text is None)


def source_of(name: str) -> str:
    """The text of a module of the package."""
    return files(PACKAGE).joinpath(f"{name}.py").read_text("utf-8")


def _how_it_ended(result: CommandResult) -> str:
    seconds = result.duration.total_seconds()
    if result.ending is Ending.TIMED_OUT:
        return f"was given up after {seconds:.0f} s; ask for less"
    last = visible((result.stderr.strip() or result.ending.value).splitlines()[-1])
    return f"needs the `python` of the sandbox, which fails (exit code {result.exit_code}): {last}"
