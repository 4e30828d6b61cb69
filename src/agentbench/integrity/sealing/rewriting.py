"""Writes a sealed test file: recordings in place of assertions, tokens in place of values."""

import ast
from collections.abc import Collection, Mapping

from agentbench.errors import InputError
from agentbench.integrity.sealing.expected_texts import telling_form


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


def constants_in(tree: ast.Module) -> set[str]:
    """The constants of a file in the form of `telling_form`, and its short texts.

    Longer texts are searched for those.
    """
    found = set[str]()
    for node in ast.walk(tree):
        form = telling_form(node)
        if form is None and isinstance(node, ast.Constant) and isinstance(node.value, str):
            form = node.value
        if form is not None:
            found.add(form)
    return found
