"""Lists and searches the files of a workspace; links are shown, and not followed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from agentbench.agents.llm.tools.inside.paths import RefusedError, below, content_of, shown
from agentbench.agents.llm.tools.inside.reading import SHOWN_LIMIT, short

_ENTRIES = 400
_MATCHES = 100
_SEARCHED = 2 * 1024 * 1024  # bytes of a file
_SKIPPED = {
    ".git",
    ".hg",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
}


def list_files(root: str, path: str = ".", depth: int = 3) -> str:
    """Files and folders below a folder, folders with a slash at the end.

    Raises:
        RefusedError: there is no such folder in the workspace.
    """
    place = _place(root, path)
    if not place.is_dir():
        raise RefusedError(f"{shown(path)} is a file; read_file shows it")
    entries = list(_entries(str(place), "", depth))
    told = entries[:_ENTRIES]
    if len(entries) > _ENTRIES:
        told.append(f"[{len(entries) - _ENTRIES} more; list a folder of these, or less depth]")
    return "\n".join(told) or f"{shown(path)} is an empty folder"


def search(
    root: str,
    pattern: str,
    path: str = ".",
    glob: str | None = None,
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
    for name in _searched(root, path, glob):
        for line in _matches(root, name, compiled):
            size += len(line)
            if len(found) == _MATCHES or size > SHOWN_LIMIT:
                return "\n".join([*found, "[there are more: narrow it down by path or glob]"])
            found.append(line)
    return "\n".join(found) or "no line of the searched files fits"


def _place(root: str, path: str) -> Path:
    place = Path(os.path.realpath(root), *below(root, path))
    if not place.exists():
        raise RefusedError(f"there is no {shown(path)}")
    return place


def _entries(folder: str, prefix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_symlink():
            yield f"{shown(name)} -> {shown(os.readlink(entry.path))}"  # noqa: PTH115 - Python 3.7
        elif not entry.is_dir():
            yield shown(name)
        elif entry.name not in _SKIPPED:
            yield f"{shown(name)}/"
            if depth > 1:
                yield from _entries(entry.path, f"{name}/", depth - 1)


def _searched(root: str, path: str, glob: str | None) -> Iterator[str]:
    """The files to search, relative to the workspace."""
    real, place = os.path.realpath(root), _place(root, path)
    if place.is_file():
        yield os.path.relpath(place, real)
        return
    for folder, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for file in sorted(files):
            name = os.path.relpath(f"{folder}/{file}", real)
            if glob is None or fnmatchcase(file, glob) or fnmatchcase(name, glob):
                yield name


def _matches(root: str, name: str, pattern: re.Pattern[str]) -> Iterator[str]:
    file = Path(root, name)
    try:
        if file.is_symlink() or file.stat().st_size > _SEARCHED:
            return
        content = content_of(root, name)
    except (RefusedError, OSError):
        return
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if pattern.search(line):
            yield f"{shown(name)}:{number}: {short(line)}"
