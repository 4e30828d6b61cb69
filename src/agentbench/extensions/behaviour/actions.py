"""The actions in a trajectory: what each tool call of an agent read, edited or ran.

Clients name their tools and arguments differently, so the arguments decide more than the tool's
name: a command for a shell, a path with a new text, a path alone. The names were read from the
tools of Claude Code, Codex, Gemini CLI, Qwen Code, OpenCode, OpenHands, Goose, mini-swe-agent and
the built-in agent.
"""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import JsonValue

from agentbench.extensions.behaviour.commands import ActionKind, command_parts, patched_files
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Step

# Names of arguments, in lower case and without underscores.
_COMMANDS = ("command", "cmd", "script", "commands", "shellcommand", "code")
_PATHS = ("path", "filepath", "filename", "file", "targetfile", "absolutepath", "relativepath",
          "relativeworkspacepath", "notebookpath", "paths", "files")  # fmt: skip
_OLD_TEXTS = ("oldstring", "oldstr", "oldtext", "search", "before")
_NEW_TEXTS = ("newstring", "newstr", "newtext", "content", "contents", "filetext", "text",
              "replace", "replacement", "edits", "inserttext", "codeedit", "newsource", "after",
              "insertline", "newcontent")  # fmt: skip
_PATCHES = ("patch", "diff", "patchtext", "input", "unparsed")
_FOLDERS = ("workdir", "cwd", "workingdirectory", "directory", "dirpath")

_SEARCHES = re.compile(r"grep|search|glob|find|list|^ls$|tree", re.IGNORECASE)
_EDITS = re.compile(r"edit|write|create|replace|patch|insert|delete|remove|rename", re.IGNORECASE)
_TESTS = re.compile(r"(execute|run)_?tests?$|^tests?$", re.IGNORECASE)
_EDITOR_COMMANDS = {
    "view": ActionKind.READ,
    "create": ActionKind.EDIT,
    "write": ActionKind.EDIT,
    "str_replace": ActionKind.EDIT,
    "insert": ActionKind.EDIT,
    "undo_edit": ActionKind.REVERT,
}
_FENCED = re.compile(r"```(?:mswea_bash_command|bash|sh|shell)\s*\n(.*?)\n```", re.DOTALL)
# Two runs of one command differ in these.
_VARYING = re.compile(
    r"0x[0-9a-fA-F]+|\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds)\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?|"
    r"\b\d{4}-\d\d-\d\d\b|\bpid \d+|\b\d{9,}(?:\.\d+)?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call with its answer."""

    step: int
    name: str
    arguments: dict[str, JsonValue]
    answer: str

    @property
    def is_malformed(self) -> bool:
        """Whether the arguments are no JSON object, although the tool takes no free text."""
        unparsed = self.arguments.get("_unparsed")
        return unparsed is not None and not patched_files(str(unparsed))

    @property
    def same(self) -> tuple[str, str]:
        """Equal for calls that are the same."""
        return self.name, json.dumps(self.arguments, sort_keys=True)

    @property
    def same_with_answer(self) -> tuple[str, str, str]:
        """Equal for calls that are the same and have the same answer."""
        return *self.same, _VARYING.sub("…", self.answer)

    @property
    def shell_line(self) -> str:
        """The line that a shell runs; empty for other tools."""
        line = _shell_command(self.arguments)
        return "" if line in _EDITOR_COMMANDS else line

    def as_text(self) -> str:
        """The call as a person would write it down."""
        command = next(_texts(self.arguments, _COMMANDS), None)
        if command is not None and command not in _EDITOR_COMMANDS:
            return command
        given = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.name}({given})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A part of a tool call: one simple command, one edit, one file that is read."""

    kind: ActionKind
    call: Call
    paths: tuple[str, ...] = ()  # as the agent wrote them
    command: str = ""  # of a shell
    old: str | None = None  # the text that an edit replaces, if the call says so
    new: str | None = None

    @property
    def step(self) -> int:
        return self.call.step

    def names(self, path: str) -> bool:
        """Whether the action is about a file of the repository."""
        return any(is_same_file(written, path) for written in self.paths)


def is_same_file(written: str, path: str) -> bool:
    """Whether a path as an agent wrote it, absolute or relative to any folder, means a file."""
    written = posixpath.normpath(written.strip("'\""))
    if "**" in written:
        return fnmatchcase(path, written.replace("**/", "*"))
    # The folder that a path starts from is not known, so the ends of the two are compared.
    parts, wanted = written.strip("/").split("/"), path.split("/")
    return all(map(fnmatchcase, reversed(wanted), reversed(parts)))


def calls_of(steps: Sequence[Step]) -> list[Call]:
    """The tool calls of a trajectory, in order, each with its answer.

    Of an agent whose model calls no tools but writes commands into its text, those commands.
    """
    calls: list[Call] = []
    for step in steps:
        results = step.observation.results if step.observation is not None else ()
        answers = {result.source_call_id: result.content for result in results}
        for call in step.tool_calls or ():
            answer = answers.get(call.tool_call_id, answers.get(None, ""))
            calls.append(
                Call(
                    step=step.step_id,
                    name=call.function_name,
                    arguments=call.arguments,
                    answer=answer,
                )
            )
    return calls or list(_fenced_commands(steps))


def actions_of(call: Call) -> Iterator[Action]:
    """The actions of a tool call, in order."""
    given = call.arguments
    paths = tuple(_texts(given, _PATHS))
    patch = next((text for text in _texts(given, _PATCHES) if patched_files(text)), None)
    command = _shell_command(given)
    if _TESTS.search(call.name):
        yield Action(kind=ActionKind.TEST, call=call, command=call.name)
    elif patch is not None:
        yield Action(kind=ActionKind.EDIT, call=call, paths=(*paths, *patched_files(patch)))
    elif command in _EDITOR_COMMANDS or (paths and not command):
        kind = _EDITOR_COMMANDS.get(command) or _kind_of(call, given)
        old = next(_texts(given, _OLD_TEXTS), None)
        new = next(_texts(given, _NEW_TEXTS), None)
        yield Action(kind=kind, call=call, paths=paths, old=old, new=new)
    elif command:
        for part in command_parts(command, next(_texts(given, _FOLDERS), "")):
            line = shlex.join(part.words)
            yield Action(kind=part.kind, call=call, paths=part.paths, command=line)
    else:
        is_search = _SEARCHES.search(call.name)
        yield Action(kind=ActionKind.SEARCH if is_search else ActionKind.OTHER, call=call)


def _kind_of(call: Call, given: dict[str, JsonValue]) -> ActionKind:
    if _EDITS.search(call.name) or next(_texts(given, _NEW_TEXTS), None) is not None:
        return ActionKind.EDIT
    return ActionKind.SEARCH if _SEARCHES.search(call.name) else ActionKind.READ


def _shell_command(given: dict[str, JsonValue]) -> str:
    """The line that a shell runs; a list of words is put together."""
    for name, value in given.items():
        if _plain(name) in _COMMANDS and isinstance(value, list):
            words = [str(word) for word in value]
            # Codex gives the words of `bash -lc`, with the line as the third.
            is_shell = len(words) > 2 and posixpath.basename(words[0]) in {"bash", "sh", "zsh"}
            return words[2] if is_shell else shlex.join(words)
    return next(_texts(given, _COMMANDS), "")


def _texts(given: dict[str, JsonValue], names: Iterable[str]) -> Iterator[str]:
    """The texts of arguments with one of these names, also from lists and nested objects."""
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        for each in values:
            if isinstance(each, dict):
                yield from _texts(each, names)
            elif isinstance(each, str) and _plain(name) in names:
                yield each


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _fenced_commands(steps: Sequence[Step]) -> Iterator[Call]:
    for number, step in enumerate(steps):
        if step.source is not Role.AGENT:
            continue
        answer = "\n".join(
            each.message for each in steps[number + 1 : number + 2] if each.source is Role.USER
        )
        for command in _FENCED.findall(step.message):
            yield Call(
                step=step.step_id, name="shell", arguments={"command": command}, answer=answer
            )
