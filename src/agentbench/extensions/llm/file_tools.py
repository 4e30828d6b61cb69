"""The tools that read and edit files; their modules are sent into the sandbox with each call."""

import json
from datetime import timedelta
from functools import partial
from importlib.resources import files

from pydantic import Field, ValidationError

from agentbench.core.schema import Schema
from agentbench.core.untrusted_json import cut_middle
from agentbench.extensions.llm.tool import Tool, ToolContext, ToolEffect
from agentbench.models.conversation import ToolReply
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.test_tools.agent_texts import ToolText, escape_control
from agentbench.test_tools.arguments import ToolArguments

CALL_TIMEOUT = timedelta(seconds=60)
"""The time limit of one task."""

MAX_REPLY_LENGTH = 40_000
"""The most characters of a reply."""

PACKAGE = "agentbench.extensions.llm.in_sandbox"
"""The package that runs in the sandbox."""

MODULES = ("paths", "reading", "editing")
"""The modules of the package, each after those that it imports."""

_LOADER = """
import json, sys, types
call = json.loads(sys.stdin.buffer.read().decode())
for name, source in call["modules"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
print(module.answer(call["task"], call["root"], call["given"]))
"""
_PATH_DESCRIPTION = "relative to the workspace"


class _InSandboxReply(Schema):
    text: str | None = None
    error: str | None = None


def run_in_sandbox(task: str, context: ToolContext, arguments: ToolArguments) -> ToolReply:
    """Run a task in the sandbox, which refuses paths that leave the workspace.

    Raises:
        SandboxError: the sandbox is lost.
    """
    call = {
        "modules": [(f"{PACKAGE}.{name}", source_of(name)) for name in MODULES],
        "task": task,
        "root": str(context.sandbox.workspace),
        "given": arguments.model_dump(mode="json"),
    }
    argv = ("python", "-I", "-S", "-B", "-c", _LOADER)
    stdin = json.dumps(call).encode()
    result = context.sandbox.run(Command(argv=argv, timeout=CALL_TIMEOUT, stdin=stdin))
    try:
        reply = _InSandboxReply.model_validate_json(result.stdout) if result.ok else None
    except ValidationError:
        reply = None
    if reply is None:
        return ToolReply(text=f"{task} {_failure_text(result)}", failed=True)
    text = reply.error or "" if reply.text is None else reply.text
    return ToolReply(
        text=cut_middle(escape_control(text), MAX_REPLY_LENGTH), failed=reply.text is None
    )


def source_of(name: str) -> str:
    """The text of a module of the package."""
    return files(PACKAGE).joinpath(f"{name}.py").read_text("utf-8")


def _failure_text(result: CommandResult) -> str:
    seconds = result.duration.total_seconds()
    if result.ending is Ending.TIMED_OUT:
        return f"timed out after {seconds:.0f} s; ask for less"
    last = escape_control((result.stderr.strip() or result.ending.value).splitlines()[-1])
    return f"needs the `python` of the sandbox, which fails (exit code {result.exit_code}): {last}"


class ListArguments(ToolArguments):
    """The arguments of `list_files`."""

    path: ToolText = Field(default=".", description=f"A folder, {_PATH_DESCRIPTION}.")
    depth: int = Field(default=3, ge=1, le=20, description="How many levels of folders to show.")


class ReadArguments(ToolArguments):
    """The arguments of `read_file`."""

    path: ToolText = Field(min_length=1, description=f"A file, {_PATH_DESCRIPTION}.")
    start_line: int = Field(default=1, ge=1, description="The first line to show, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="The last one; default: the end.")


class SearchArguments(ToolArguments):
    """The arguments of `search`."""

    pattern: ToolText = Field(
        min_length=1, max_length=2_000, description="As Python's `re` takes it."
    )
    path: ToolText = Field(default=".", description=f"A folder or a file, {_PATH_DESCRIPTION}.")
    glob: ToolText | None = Field(
        default=None, description="Only files whose names fit, like *.py."
    )
    ignore_case: bool = False


class EditArguments(ToolArguments):
    """The arguments of `edit`."""

    path: ToolText = Field(min_length=1, description=f"A file, {_PATH_DESCRIPTION}.")
    old_text: ToolText = Field(
        description="The text to replace, to the letter, without line numbers; it must occur "
        "exactly once. Empty: make a new file."
    )
    new_text: ToolText = Field(description="The replacement.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


def _read_file(context: ToolContext, arguments: ReadArguments) -> ToolReply:
    if arguments.end_line is not None and arguments.end_line < arguments.start_line:
        return ToolReply(text="end_line is before start_line", failed=True)
    return run_in_sandbox("read_file", context, arguments)


LIST_FILES = Tool(
    name="list_files",
    description="List the files and folders below a folder.",
    arguments=ListArguments,
    act=partial(run_in_sandbox, "list_files"),
)
READ_FILE = Tool(
    name="read_file",
    description="Show lines of a text file, with their numbers.",
    arguments=ReadArguments,
    act=_read_file,
)
SEARCH = Tool(
    name="search",
    description="Search files for lines that fit a regular expression.",
    arguments=SearchArguments,
    act=partial(run_in_sandbox, "search"),
)
EDIT = Tool(
    name="edit",
    description="Replace an exact text in a file by another one, or make a new file.",
    arguments=EditArguments,
    act=partial(run_in_sandbox, "edit"),
    effect=ToolEffect.CHANGES,
)
