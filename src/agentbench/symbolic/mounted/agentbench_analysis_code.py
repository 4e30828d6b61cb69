"""Reads the code that is handed in, loads it as a module, and finds the function in it."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path

MODULE = "submitted"
"""What the code is called as a module."""

_MAKING_CODE = ("eval", "exec", "compile", "__import__")


class RefusalError(Exception):
    """There is nothing to search: says which of the contract's errors it is."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


def parse(path: Path) -> ast.Module:
    """The code's tree.

    Raises:
        RefusalError: it cannot be parsed, or calls what makes code at run time.
    """
    try:
        tree = ast.parse(path.read_bytes(), filename=path.name)
    except SyntaxError as fault:
        message = f"Syntax error: {fault.msg} ({path.name}, line {fault.lineno})"
        raise RefusalError("SyntaxError", message) from None
    except ValueError as fault:  # a NUL
        raise RefusalError("SyntaxError", f"Syntax error: {fault} ({path.name})") from None
    except (RecursionError, MemoryError):
        message = f"Syntax error: nested too deeply to be parsed ({path.name})"
        raise RefusalError("SyntaxError", message) from None
    _refuse_made_code(tree)
    return tree


def _refuse_made_code(tree: ast.Module) -> None:
    """A search follows the code that it is handed, not what is made of text while it runs."""
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in _MAKING_CODE and node.func.id not in own:
            raise RefusalError("ValidationError", f"Blocked function call: {node.func.id}")


def load(tree: ast.Module, path: Path, given: dict[str, object]) -> types.ModuleType:
    """Run the code as a module.

    Args:
        tree: What to run.
        path: Where its text stands.
        given: Names that it finds there.

    Raises:
        RefusalError: it does not run to its end.
    """
    module = types.ModuleType(MODULE)
    module.__file__ = str(path)
    module.__dict__.update(given)
    sys.modules[MODULE] = module
    try:
        exec(compile(tree, str(path), "exec"), module.__dict__)  # what this program is for
    except ImportError as fault:
        raise RefusalError("ImportError", cut(str(fault))) from None
    except SyntaxError as fault:  # such as a return outside of a function
        message = f"Syntax error: {fault.msg} ({path.name}, line {fault.lineno})"
        raise RefusalError("SyntaxError", message) from None
    except RecursionError:
        raise RefusalError("RuntimeError", "the code recurses without end when loaded") from None
    except (Exception, SystemExit, GeneratorExit) as fault:  # noqa: BLE001 - whatever it raises
        message = f"the code cannot be loaded: {said(fault)}{_place(fault, path)}"
        raise RefusalError("RuntimeError", message) from None
    return module


def find(module: types.ModuleType, name: str, path: Path) -> tuple[object, str, object]:
    """The function: what holds it, its name there, and what stands there.

    Raises:
        RefusalError: the code has none of this name.
    """
    holder: object = module
    *outer, last = name.split(".")
    for part in outer:
        holder = vars(holder).get(part) if hasattr(holder, "__dict__") else None
        if not isinstance(holder, type):
            raise _absent(name)
    found = vars(holder).get(last)
    function = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != str(path):
        raise _absent(name)
    return holder, last, found


def refuse_unsearchable(function: Callable[..., object], name: str) -> None:
    """Refuse what no search follows.

    Raises:
        RefusalError: it is a coroutine or a generator.
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise RefusalError("ValueError", f"'{name}' is async; give a function that is not")
    if inspect.isgeneratorfunction(function):
        raise RefusalError(
            "ValueError", f"'{name}' is a generator; give a function that returns what it makes"
        )


def node_of(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The function's own node, the last of its name; None for one that no `def` made."""
    body: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        named = [node for node in body if isinstance(node, kinds) and node.name == part]
        if not named:
            return None
        found = named[-1]
        body = named[-1].body
    return found if isinstance(found, ast.FunctionDef) else None


def said(fault: BaseException) -> str:
    """An error in a line."""
    try:
        text = str(fault)
    except BaseException:  # noqa: BLE001 - a class of the code's own
        text = ""
    name = type(fault).__name__
    return cut(f"{name}: {text}" if text else name)


def cut(text: str, most: int = 300) -> str:
    """A text that fits a line of an answer."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def line_of(fault: BaseException, path: Path) -> int | None:
    """The last line of the code that an error came through."""
    trace, line = fault.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _place(fault: BaseException, path: Path) -> str:
    line = line_of(fault, path)
    return "" if line is None else f" (line {line})"


def _absent(name: str) -> RefusalError:
    return RefusalError("ValueError", f"Function '{name}' not found in code")
