"""Reads the submitted code, loads it as a module, and finds the function in it."""

# `compile` applies this to the submitted code, too: its annotations are not evaluated at once.
from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any

from .foreign_code import call_foreign

Function = Callable[..., object]

MODULE = "submitted"  # the name of the code as a module
_CODE_MAKERS = ("eval", "exec", "compile", "__import__")


class RefusalError(Exception):
    """The code cannot be searched; names the type of error that the caller gets."""

    def __init__(self, message: str, error_type: str = "ValueError") -> None:
        super().__init__(message)
        self.error_type = error_type


def parse(path: Path) -> ast.Module:
    """The code's tree; refused if it cannot be parsed, or makes code at run time.

    Raises:
        RefusalError: the code cannot be parsed, or makes code at run time.
    """
    try:
        tree = ast.parse(path.read_bytes(), filename=path.name)
    except SyntaxError as fault:
        raise _syntax_refusal(f"{fault.msg} ({path.name}, line {fault.lineno})") from None
    except ValueError as fault:  # a NUL
        raise _syntax_refusal(f"{fault} ({path.name})") from None
    except (RecursionError, MemoryError):
        raise _syntax_refusal(f"nested too deeply to be parsed ({path.name})") from None
    # A search follows the submitted code, not code that is made of text while it runs.
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name in _CODE_MAKERS and name not in own:
                raise RefusalError(f"Blocked function call: {name}", "ValidationError")
    return tree


def _syntax_refusal(text: str) -> RefusalError:
    return RefusalError(f"Syntax error: {text}", "SyntaxError")


def load(tree: ast.Module, path: Path, names: Mapping[str, object]) -> types.ModuleType:
    """Run the code as a module that has some names from the start; refused if it raises.

    Args:
        tree: The code.
        path: The file of its text.
        names: Names that the module has from the start.

    Raises:
        RefusalError: the code does not run to its end.
    """
    module = types.ModuleType(MODULE)
    module.__file__ = str(path)
    module.__dict__.update(names)
    sys.modules[MODULE] = module
    error = call_foreign(
        lambda: exec(compile(tree, str(path), "exec"), module.__dict__),
        catch=(Exception, SystemExit, GeneratorExit),
    ).error
    if error is not None:
        raise _load_refusal(error, path)
    return module


def _load_refusal(error: BaseException, path: Path) -> RefusalError:
    if isinstance(error, ImportError):
        return RefusalError(cut(str(error)), "ImportError")
    if isinstance(error, SyntaxError):  # such as a return outside of a function
        return _syntax_refusal(f"{error.msg} ({path.name}, line {error.lineno})")
    if isinstance(error, RecursionError):
        return RefusalError("the code recurses without end when loaded", "RuntimeError")
    line = line_of(error, path)
    line_note = "" if line is None else f" (line {line})"
    return RefusalError(
        f"the code cannot be loaded: {error_line(error)}{line_note}", "RuntimeError"
    )


@dataclass(frozen=True)
class FoundFunction:
    """A function of the code."""

    holder: object  # the module or class that has it
    name: str  # there
    attribute: object  # the function, or its static or class method
    function: Function  # without decorators

    @property
    def plain(self) -> Function:
        function: Function = _without_binding(self.attribute)
        return function


def find(module: types.ModuleType, name: str, path: Path) -> FoundFunction:
    """The function of a dotted name; refused if the code has none.

    Raises:
        RefusalError: the code has no function of this name.
    """
    absent = RefusalError(f"Function '{name}' not found in code")
    holder: object = module
    *outer, last = name.split(".")
    for part in outer:
        holder = vars(holder).get(part) if hasattr(holder, "__dict__") else None
        if not isinstance(holder, type):
            raise absent
    attribute = vars(holder).get(last)
    function = _without_binding(attribute)
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != str(path):
        raise absent
    return FoundFunction(holder=holder, name=last, attribute=attribute, function=function)


def _without_binding(attribute: Any) -> Any:
    return attribute.__func__ if isinstance(attribute, (staticmethod, classmethod)) else attribute


def refuse_unsearchable(function: Function, name: str) -> None:
    """Refuse a coroutine or a generator, which no search can follow."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise RefusalError(f"'{name}' is async; give a function that is not")
    if inspect.isgeneratorfunction(function):
        raise RefusalError(f"'{name}' is a generator; give a function that returns its result")


def node_of(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The function's own node, the last of its name; None if no `def` made it."""
    found: ast.Module | ast.ClassDef | ast.FunctionDef = tree
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        named = [node for node in found.body if isinstance(node, kinds) and node.name == part]
        if not named:
            return None
        found = named[-1]
    return found if isinstance(found, ast.FunctionDef) else None


def error_line(error: BaseException) -> str:
    """An error in one line, whatever its own `__str__` does."""
    text = call_foreign(lambda: str(error), catch=BaseException).value
    name = type(error).__name__
    return cut(f"{name}: {text}" if text else name)


def cut(text: str, most: int = 300) -> str:
    """A text that fits a line of an answer."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def line_of(error: BaseException, path: Path) -> int | None:
    """The last line of the code that an error came through."""
    entries = walk_tb(error.__traceback__)
    lines = [line for frame, line in entries if frame.f_code.co_filename == str(path)]
    return lines[-1] if lines else None
