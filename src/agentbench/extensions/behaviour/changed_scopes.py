"""The functions and classes of Python files that a patch changes."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentbench.audit.patch import FilePatch, apply_patch
from agentbench.python_source import python_syntax

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ReadFile = Callable[[str], bytes | None]
"""The content of a file at the base commit; None: there is none, or it is unknown."""


class CodeScope(NamedTuple):
    """A function, method or class; its name is empty for code outside of all of them."""

    file: str
    name: str


def changed_scopes(patch: tuple[FilePatch, ...], read: ReadFile) -> frozenset[CodeScope] | None:
    """The places that a patch changes, in Python files.

    Lines outside of functions and classes count only in a file where nothing else is changed: most
    patches add an import.

    Returns:
        The places; None if a file of the patch is unknown or is not valid Python.
    """
    found: set[CodeScope] = set()
    for file in patch:
        if not file.path.endswith(".py") or file.removed:
            continue
        before = read(file.path)
        after = apply_patch(before, file)
        if after is None:
            return None
        try:
            old, new = _scopes(before or b""), _scopes(after)
        except python_syntax.UNPARSABLE:
            return None
        names = {*_names(old, _removed(file)), *_names(new, (n for n, _ in file.added()))}
        found.update(CodeScope(file.path, name) for name in (names - {""} or names))
    return frozenset(found)


def _removed(file: FilePatch) -> Iterator[int]:
    for hunk in file.hunks:
        number = hunk.old_start
        for sign, _ in hunk.signed_texts():
            if sign == "-":
                yield number
            number += sign != "+"


def _names(scopes: list[tuple[range, str]], lines: Iterator[int]) -> Iterator[str]:
    for line in lines:
        # The innermost scope comes last.
        yield next((name for span, name in reversed(scopes) if line in span), "")


def _scopes(source: bytes) -> list[tuple[range, str]]:
    """The lines of each function and class, outer ones first."""
    found: list[tuple[range, str]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _SCOPES):
                name = f"{prefix}{child.name}"
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                found.append((range(first, (child.end_lineno or child.lineno) + 1), name))
                walk(child, f"{name}.")
            else:
                walk(child, prefix)

    walk(python_syntax.parse(source), "")
    return found
