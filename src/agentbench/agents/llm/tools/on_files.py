"""The tools that look at files and change them."""

from pydantic import Field

from agentbench.agents.llm.conversation import Reply
from agentbench.agents.llm.tools.in_sandbox import in_sandbox
from agentbench.agents.llm.tools.tool import Desk, Effect, Text, Tool
from agentbench.pytest_results.tool_calls.arguments import Arguments

_PATH = "relative to the workspace"


class ListArguments(Arguments):
    """What `list_files` takes."""

    path: Text = Field(default=".", description=f"A folder, {_PATH}.")
    depth: int = Field(default=3, ge=1, le=20, description="How many levels of folders to show.")


class ReadArguments(Arguments):
    """What `read_file` takes."""

    path: Text = Field(min_length=1, description=f"A file, {_PATH}.")
    start_line: int = Field(default=1, ge=1, description="The first line to show, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="The last one; default: the end.")


class SearchArguments(Arguments):
    """What `search` takes."""

    pattern: Text = Field(min_length=1, max_length=2_000, description="As Python's `re` takes it.")
    path: Text = Field(default=".", description=f"A folder or a file, {_PATH}.")
    glob: Text | None = Field(default=None, description="Only files whose names fit, like *.py.")
    ignore_case: bool = False


class EditArguments(Arguments):
    """What `edit` takes."""

    path: Text = Field(min_length=1, description=f"A file, {_PATH}.")
    old_text: Text = Field(
        description="The text to replace, to the letter, without line numbers; it must occur "
        "exactly once. Empty: make a new file."
    )
    new_text: Text = Field(description="What takes its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


def _list_files(desk: Desk, arguments: ListArguments) -> Reply:
    return in_sandbox(desk, "list_files", arguments)


def _read_file(desk: Desk, arguments: ReadArguments) -> Reply:
    if arguments.end_line is not None and arguments.end_line < arguments.start_line:
        return Reply(text="end_line is before start_line", failed=True)
    return in_sandbox(desk, "read_file", arguments)


def _search(desk: Desk, arguments: SearchArguments) -> Reply:
    return in_sandbox(desk, "search", arguments)


def _edit(desk: Desk, arguments: EditArguments) -> Reply:
    return in_sandbox(desk, "edit", arguments)


LIST_FILES = Tool(
    name="list_files",
    description="List the files and folders below a folder.",
    arguments=ListArguments,
    act=_list_files,
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
    act=_search,
)
EDIT = Tool(
    name="edit",
    description="Replace an exact text in a file by another one, or make a new file.",
    arguments=EditArguments,
    act=_edit,
    effect=Effect.CHANGES,
)
