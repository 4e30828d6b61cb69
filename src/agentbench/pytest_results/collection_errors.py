"""Finds the error and its line in pytest's output about failed collection and skips."""

import re
from pathlib import PurePosixPath

from agentbench.core import python_syntax, untrusted_json
from agentbench.scoring.evidence import CollectionFact


def error_line(longrepr: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line.strip() for line in longrepr.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (marked or lines or [""])[-1]


def skip_reason(longrepr: str) -> str:
    """The reason in a printed tuple `('path', 3, 'Skipped: reason')`, or the text itself."""
    try:
        printed = python_syntax.literal(longrepr)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return longrepr
    if not isinstance(printed, tuple) or len(printed) != 3:
        return longrepr
    return str(printed[2]).removeprefix("Skipped: ")


_MAX_TEXT = 300  # characters of a message or a path
_MAX_LINES = 2_000  # of a traceback, from its end
_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d{1,9}): ?(?:in |[A-Z]\w*$|$)")
_NATIVE_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d{1,9})(?:, in .*)?$')
_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_SYNTAX_ERROR_LOCATION = re.compile(r" \([^()\n]+, line \d+\)$")  # a SyntaxError repeats it
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def collection_fact(file: str, message: str, traceback: str, root: str) -> CollectionFact:
    """The facts about a file that tests in the folder `root` could not collect.

    Args:
        file: The file that pytest was collecting.
        message: The error in one line, from the reporter.
        traceback: The traceback, in any of pytest's styles.
        root: The folder that the tests ran in.
    """
    lines = traceback.splitlines()[-_MAX_LINES:]
    error, told = _error_class_and_message(lines, message)
    path, line = _broken_line(lines, root)
    told = _SYNTAX_ERROR_LOCATION.sub("", told.replace(f"{root}/", "") if root else told)
    told = untrusted_json.text(told, _MAX_TEXT)
    return CollectionFact(file=file, error=error, path=path, line=line, message=told)


def _error_class_and_message(lines: list[str], message: str) -> tuple[str, str]:
    """The error's class and its message. pytest marks its lines; plain Python ends with it."""
    marked = [line[4:] for line in lines if line.startswith("E   ")]
    for text in (*reversed(_last_block(marked)), message.split("\n", 1)[0], *reversed(lines)):
        found = _ERROR.match(text)
        if found:
            name = untrusted_json.text(found["error"].rpartition(".")[2], _MAX_TEXT)
            return name, found["message"] or ""
    return "", message


def _last_block(marked: list[str]) -> list[str]:
    """The lines that may begin a message; others are indented, or follow the first."""
    named = [text for text in marked if _ERROR.match(text)]
    is_syntax = any(_NATIVE_FRAME.match(text) for text in marked)
    return named[-1:] if is_syntax else named[:1]


def _broken_line(lines: list[str], root: str) -> tuple[str, int | None]:
    """The last line of the project's own code in a traceback."""
    for text in reversed(lines):
        bare = text[1:] if text.startswith("E ") else text
        found = _FRAME.match(text) or _NATIVE_FRAME.match(bare)
        path = _in_project(found["path"], root) if found else None
        if found and path is not None:
            return path, int(found["line"])
    return "", None


def _in_project(name: str, root: str) -> str | None:
    path = PurePosixPath(name)
    if path.is_absolute():
        if not root or not path.is_relative_to(root):
            return None
        path = path.relative_to(root)
    if ".." in path.parts or not _INSTALLED.isdisjoint(path.parts) or not path.suffix:
        return None
    return untrusted_json.text(path.as_posix(), _MAX_TEXT)
