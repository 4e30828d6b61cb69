"""Writes a sealed test file: recordings in place of assertions, tokens in place of values."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentbench.errors import InputError
from agentbench.integrity.sealing.statements import RAISING, recorder_call
from agentbench.python_source.functions import functions_of
from agentbench.python_source.python_syntax import name_of


@dataclass(slots=True, kw_only=True)
class SealRewriter(ast.NodeTransformer):
    """Replaces assertions by recordings, and expected values by tokens."""

    statements: Mapping[int, list[int]]
    errors: Mapping[int, tuple[int, list[ast.expr], ast.Call]]
    cells: Mapping[int, ast.Call]
    recorded: Mapping[int, tuple[ast.expr, ...]]

    def visit(self, node: ast.AST) -> ast.AST:
        """A node with all replacements inside it."""
        key = id(node)
        if key in self.cells:
            return self.cells[key]
        if key in self.statements:
            return self._recording(node, self.statements[key])
        if key in self.errors:
            return self._error(key)
        visited = self.generic_visit(node)
        assert isinstance(visited, ast.AST)
        return visited

    def _recording(self, node: ast.AST, numbers: Iterable[int]) -> ast.AST:
        calls: list[ast.expr] = []
        for number in numbers:
            values = [self._expression(value) for value in self.recorded[number]]
            calls.append(recorder_call("value", number, *values))
        if not calls:
            return ast.copy_location(ast.Pass(), node)
        value = calls[0] if len(calls) == 1 else ast.Tuple(calls, ast.Load())
        return ast.copy_location(ast.Expr(value), node)

    def _error(self, key: int) -> ast.Call:
        number, tokens, rest = self.errors[key]
        kind = "raises" if name_of(rest.func) in RAISING else "warns"
        call = recorder_call(kind, number)
        call.args += [self._expression(value) for value in rest.args]
        call.keywords += [
            ast.keyword(arg=keyword.arg, value=self._expression(keyword.value))
            for keyword in rest.keywords
        ]
        if tokens:
            call.keywords.append(ast.keyword(arg="sealed", value=ast.Tuple(tokens, ast.Load())))
        return call

    def _expression(self, node: ast.expr) -> ast.expr:
        visited = self.visit(node)
        assert isinstance(visited, ast.expr)
        return visited


def written(tree: ast.Module, path: str) -> str:
    """The text of a tree.

    Raises:
        InputError: this interpreter cannot write it.
    """
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be written again: {error}") from error


def empty_others(tree: ast.Module, listed: Collection[str]) -> None:
    """Empty the tests that do not decide, since others may expect their values."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test") and node.name not in listed:
            node.body = [ast.Pass()]
            node.decorator_list = []


def texts_by_function(tree: ast.Module) -> dict[str, set[str]]:
    """The constant texts of each function, and of the rest of the file under an empty name."""
    found: dict[str, set[str]] = {}
    inside: set[int] = set()
    for name, function in functions_of(tree).functions.items():
        nodes = [node for statement in function.node.body for node in ast.walk(statement)]
        inside.update(map(id, nodes))
        found[name] = set(_texts(nodes))
    found[""] = set(_texts(node for node in ast.walk(tree) if id(node) not in inside))
    return found


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
