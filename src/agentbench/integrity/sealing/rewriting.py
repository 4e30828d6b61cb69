"""Writes a sealed test file: recordings in place of assertions, tokens in place of values."""

import ast
from collections.abc import Collection, Mapping

from agentbench.errors import InputError
from agentbench.integrity.sealing.expected_texts import telling_form
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


def constants_by_function(tree: ast.Module) -> dict[str, set[str]]:
    """The constants of each function, and of the rest of the file under an empty name.

    They have the form of `telling_form`; short texts are there, too, since longer ones have them.
    """
    nodes = {"": list(ast.walk(tree))}
    inside: set[int] = set()
    for name, function in functions_of(tree).functions.items():
        nodes[name] = [node for statement in function.node.body for node in ast.walk(statement)]
        inside.update(map(id, nodes[name]))
    nodes[""] = [node for node in nodes[""] if id(node) not in inside]
    found: dict[str, set[str]] = {name: set() for name in nodes}
    for name, own in nodes.items():
        for node in own:
            form = telling_form(node)
            if form is None and isinstance(node, ast.Constant) and isinstance(node.value, str):
                form = node.value
            if form is not None:
                found[name].add(form)
    return found
