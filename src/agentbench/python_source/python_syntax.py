"""Parses and compiles Python source in one thread at a time.

CPython has one counter for all threads for its depth in a syntax tree. A garbage collection in the
middle of parsing can let another thread continue; if that one parses, too, one of them ends in
SystemError (seen with 3.11.7; python/cpython#106905 is similar).

The collector is paused meanwhile. No node of a tree that is being built can be freed, and nearly
all collections of a judge began there. The longest ones stop all threads for a tenth of a second.
"""

import ast
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import CodeType

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The errors of `parse` and `code_of` for a source that this Python cannot read."""

_LOCK = Lock()


@contextmanager
def _exclusive() -> Iterator[None]:
    with _LOCK, warnings.catch_warnings():
        # Warnings about a task's source, such as for an invalid escape, are not for our user.
        warnings.simplefilter("ignore")
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()


def parse(source: str | bytes, path: str = "<unknown>") -> ast.Module:
    """The syntax tree of a source.

    Raises:
        SyntaxError: this interpreter cannot parse it.
        ValueError: it has a null byte, or cannot be decoded.
        RecursionError: it is nested too deep.
        MemoryError: it is nested too deep for the parser.
    """
    with _exclusive():
        return ast.parse(source, filename=path)


def check(tree: ast.Module, path: str = "<unknown>") -> None:
    """Compile a tree to find faults that parsing does not, such as `break` outside of a loop.

    Raises:
        SyntaxError: this interpreter cannot compile it.
        RecursionError: it is nested too deep.
    """
    with _exclusive():
        compile(tree, path, "exec", dont_inherit=True)


def code_of(source: str | ast.Module) -> CodeType:
    """The code object of a source or of its tree; raises the errors of `parse`."""
    with _exclusive():
        return compile(source, "<unknown>", "exec", dont_inherit=True)


def name_of(node: ast.AST) -> str:
    """The name of a variable, or the last one of an attribute; empty for another expression."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def dotted_name(node: ast.AST) -> str:
    """The dotted name in an expression; empty for another expression."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            return f"{found}.{name}" if (found := dotted_name(owner)) else ""
        case _:
            return name_of(node)


def root_of(node: ast.expr) -> str:
    """The name at the beginning of an expression; empty if there is none."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def variables_in(node: ast.AST) -> list[str]:
    """The name of every variable in an expression, as often as it is there."""
    return [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]


def literal(text: str) -> object:
    """The value of a literal.

    Raises:
        SyntaxError: the text is not an expression.
        ValueError: it is more than a literal.
        TypeError: the literal has no value, such as a set of lists.
        RecursionError: it is nested too deep.
        MemoryError: it is nested too deep for the parser.
    """
    with _LOCK:
        return ast.literal_eval(text)
