"""Writes a sealed test file: recordings in place of assertions, tokens in place of values."""

import ast
from collections.abc import Collection, Mapping

from agentbench.errors import InputError
from agentbench.python_source.functions import functions_of


class NodeReplacer(ast.NodeTransformer):
    """Replaces nodes by their ids, also inside of replacements."""

    def __init__(self, replacements: Mapping[int, ast.AST]) -> None:
        self._replacements = replacements

    def visit(self, node: ast.AST) -> ast.AST:
        visited: ast.AST = self.generic_visit(self._replacements.get(id(node), node))
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
    nodes = {"": list(ast.walk(tree))}
    inside: set[int] = set()
    for name, function in functions_of(tree).functions.items():
        nodes[name] = [node for statement in function.node.body for node in ast.walk(statement)]
        inside.update(map(id, nodes[name]))
    nodes[""] = [node for node in nodes[""] if id(node) not in inside]
    return {
        name: {
            one.value for one in own if isinstance(one, ast.Constant) and isinstance(one.value, str)
        }
        for name, own in nodes.items()
    }
