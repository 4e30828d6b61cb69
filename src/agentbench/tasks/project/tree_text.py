"""The text files of a tree that nobody vouches for."""

import os
from collections.abc import Iterator
from pathlib import Path

_LARGEST = 1 << 20
"""Bytes; what is larger describes no project."""
_MOST_FILES = 20_000
_LEFT_OUT = frozenset({"node_modules", "build", "dist", "site-packages", "venv", "env", "vendor"})


def text_of(tree: Path, name: str) -> str | None:
    """A file's text; None where there is none, it is too large or leads out of the tree.

    A byte order mark is left out, and what is no UTF-8 is read as Latin-1.
    """
    path = tree / name
    try:
        if not path.is_file() or not path.resolve().is_relative_to(tree.resolve()):
            return None
        if path.stat().st_size > _LARGEST:
            return None
        content = path.read_bytes()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL in a name
        return None
    return decoded(content)


def decoded(content: bytes) -> str:
    """A file's text; a byte order mark is left out, and what is no UTF-8 is read as Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def python_files(tree: Path) -> Iterator[str]:
    """The names of the tree's Python files, the first ones of very many; links are not followed."""
    found = 0
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _LEFT_OUT)
        below = Path(folder).relative_to(tree)
        for name in sorted(files):
            if name.endswith(".py"):
                yield (below / name).as_posix()
                found += 1
        if found > _MOST_FILES:
            return
