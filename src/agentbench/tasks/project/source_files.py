"""The text files of a project that nobody vouches for, and the values of settings in them.

A value of a wrong type counts as missing.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

TomlTable = Mapping[str, object]
"""A table of a TOML file."""


def table_in(table: TomlTable, *names: str) -> TomlTable:
    """A table below others; an empty one where there is none."""
    for name in names:
        below = table.get(name)
        if not isinstance(below, dict):
            return {}
        table = below
    return table


def text_in(table: TomlTable, name: str) -> str:
    """A string; an empty one where there is none."""
    value = table.get(name)
    return value if isinstance(value, str) else ""


def strings_in(value: object) -> tuple[str, ...]:
    """The strings of a list; a single string is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list | tuple) else ()


def ini_lines(value: str) -> tuple[str, ...]:
    """The lines of an ini file's value, without comments and empty ones."""
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in value.splitlines())
    return tuple(line for line in stripped if line)


_MAX_FILE_BYTES = 1 << 20
"""Bytes; what is larger describes no project."""
_MAX_FILES = 20_000
_IGNORED_FOLDERS = frozenset(
    {"node_modules", "build", "dist", "site-packages", "venv", "env", "vendor"}
)


def read_project_file(tree: Path, name: str) -> str | None:
    """A file's text; None where there is none, it is too large or leads out of the tree.

    A byte order mark is left out, and what is not UTF-8 is read as Latin-1.
    """
    path = tree / name
    try:
        if not path.is_file() or not path.resolve().is_relative_to(tree.resolve()):
            return None
        if path.stat().st_size > _MAX_FILE_BYTES:
            return None
        content = path.read_bytes()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL in a name
        return None
    return decode_text(content)


def decode_text(content: bytes) -> str:
    """A file's text; a byte order mark is left out, and what is not UTF-8 is read as Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def python_files(tree: Path) -> Iterator[str]:
    """The names of the tree's Python files, the first ones of very many; links are not followed."""
    found = 0
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and f not in _IGNORED_FOLDERS
        )
        below = Path(folder).relative_to(tree)
        for name in sorted(files):
            if name.endswith(".py"):
                yield (below / name).as_posix()
                found += 1
        if found > _MAX_FILES:
            return
