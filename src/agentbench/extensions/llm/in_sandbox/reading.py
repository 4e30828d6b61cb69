"""Lists, reads and searches the files of a workspace; links are listed, and not followed."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from agentbench.extensions.llm.in_sandbox.paths import (
    RefusedError,
    parts_below,
    printable,
    read_text_file,
)

MAX_ANSWER_LENGTH = 30_000
"""Characters of an answer."""

_MAX_LINE_LENGTH = 2_000  # characters
_NUMBER_WIDTH = 8  # characters for a line's number
_MAX_ENTRIES = 400
_MAX_MATCHES = 100
_MAX_SEARCHED_BYTES = 2 * 1024 * 1024  # bytes of a file
_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {".tox", ".venv", "__pycache__", "node_modules"}
)


def read_file(root: str, path: str, start_line: int = 1, end_line: "int | None" = None) -> str:
    """Lines of a file, both ends included.

    Raises:
        RefusedError: there is no such line, or no such text file in the workspace.
    """
    content = read_text_file(root, path)
    if not content:
        return f"{printable(path)} is empty"
    lines = content.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    if start_line > len(lines):
        raise RefusedError(f"{printable(path)} ends with line {len(lines)}; no line {start_line}")
    requested = lines[start_line - 1 : end_line]
    numbered = list(_as_many_as_fit(requested, start_line))
    end = start_line + len(numbered) - 1
    head = [f"{printable(path)}: lines {start_line}-{end} of {len(lines)}", *_remarks(content)]
    remaining = len(requested) - len(numbered)
    tail = [f"[{remaining} more lines; go on with start_line={end + 1}]"] if remaining else []
    return "\n".join([", ".join(head), *numbered, *tail])


def shorten_line(line: str) -> str:
    """A line of bearable length."""
    if len(line) <= _MAX_LINE_LENGTH:
        return line
    return f"{line[:_MAX_LINE_LENGTH]}[... {len(line) - _MAX_LINE_LENGTH} more characters]"


def _as_many_as_fit(lines: "list[str]", first: int) -> "Iterator[str]":
    size = 0
    for number, line in enumerate(lines, first):
        text = shorten_line(line[:-1] if line.endswith("\r") else line)
        size += len(text) + _NUMBER_WIDTH
        if size > MAX_ANSWER_LENGTH:
            return
        yield f"{number:>6}\t{text}"


def _remarks(content: bytes) -> "Iterator[str]":
    crlf = content.count(b"\r\n")
    if crlf:
        mixed = crlf != content.count(b"\n")
        yield "line endings mixed" if mixed else "CRLF line endings, which edit keeps"
    if not content.endswith(b"\n"):
        yield "no newline at the end"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"no UTF-8 from byte {error.start} on, shown as U+FFFD and kept by edit"


def list_files(root: str, path: str = ".", depth: int = 3) -> str:
    """Files and folders below a folder, folders with a slash at the end.

    Raises:
        RefusedError: there is no such folder in the workspace.
    """
    folder = _existing_path(root, path)
    if not folder.is_dir():
        raise RefusedError(f"{printable(path)} is a file; read_file shows it")
    entries = list(_entries(str(folder), "", depth))
    lines = entries[:_MAX_ENTRIES]
    if len(entries) > _MAX_ENTRIES:
        lines.append(f"[{len(entries) - _MAX_ENTRIES} more; list a folder of these, or less depth]")
    return "\n".join(lines) or f"{printable(path)} is an empty folder"


def search(
    root: str,
    pattern: str,
    path: str = ".",
    glob: "str | None" = None,
    ignore_case: bool = False,  # noqa: FBT001, FBT002 - as the tool's arguments have it
) -> str:
    """Lines that a regular expression is found in, as `file:line: text`.

    Raises:
        RefusedError: the expression is none, or there is no such path in the workspace.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise RefusedError(f"pattern is no regular expression of Python: {error}") from None
    found: list[str] = []
    size = 0
    for name in _files_to_search(root, path, glob):
        for line in _matches(root, name, compiled):
            size += len(line)
            if len(found) == _MAX_MATCHES or size > MAX_ANSWER_LENGTH:
                return "\n".join([*found, "[there are more: narrow it down by path or glob]"])
            found.append(line)
    return "\n".join(found) or "no line of the searched files fits"


def _existing_path(root: str, path: str) -> Path:
    target = Path(os.path.realpath(root), *parts_below(root, path))
    if not target.exists():
        raise RefusedError(f"there is no {printable(path)}")
    return target


def _entries(folder: str, prefix: str, depth: int) -> "Iterator[str]":
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_symlink():
            yield f"{printable(name)} -> {printable(os.readlink(entry.path))}"  # noqa: PTH115 - Python 3.7
        elif not entry.is_dir():
            yield printable(name)
        elif entry.name not in _SKIPPED_FOLDERS:
            yield f"{printable(name)}/"
            if depth > 1:
                yield from _entries(entry.path, f"{name}/", depth - 1)


def _files_to_search(root: str, path: str, glob: "str | None") -> "Iterator[str]":
    """The files to search, relative to the workspace."""
    real, target = os.path.realpath(root), _existing_path(root, path)
    if target.is_file():
        yield os.path.relpath(target, real)
        return
    for folder, folders, files in os.walk(target):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for file in sorted(files):
            name = os.path.relpath(f"{folder}/{file}", real)
            if glob is None or fnmatchcase(file, glob) or fnmatchcase(name, glob):
                yield name


def _matches(root: str, name: str, pattern: "re.Pattern[str]") -> "Iterator[str]":
    file = Path(root, name)
    try:
        if file.is_symlink() or file.stat().st_size > _MAX_SEARCHED_BYTES:
            return
        content = read_text_file(root, name)
    except (RefusedError, OSError):
        return
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if pattern.search(line):
            yield f"{printable(name)}:{number}: {shorten_line(line)}"
