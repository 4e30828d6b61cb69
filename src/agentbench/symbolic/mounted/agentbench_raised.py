"""Whether an error was meant: raised by a `raise` of the code in question, or run into."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from types import TracebackType


def is_meant(error: BaseException, paths: tuple[str, ...]) -> bool:
    """Whether it is an error of the project's own, or was raised by a statement of it."""
    module = getattr(type(error), "__module__", "")
    if module not in ("builtins", "") and _is_own(_file_of(module), paths):
        return True
    place = _innermost(error.__traceback__)
    if place is None or not _is_own(place[0], paths):
        return False
    return any(first <= place[1] <= last for first, last in _raises(place[0]))


def _file_of(module: str) -> str:
    import sys

    return getattr(sys.modules.get(module), "__file__", None) or ""


def _is_own(file: str, paths: tuple[str, ...]) -> bool:
    return any(file.startswith(path.rstrip("/") + "/") for path in paths)


def _innermost(traceback: TracebackType | None) -> tuple[str, int] | None:
    place = None
    while traceback is not None:
        place = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return place


@lru_cache(maxsize=64)
def _raises(file: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in found)
