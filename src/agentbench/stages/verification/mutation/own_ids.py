"""Test functions that look at their own node ids, or keep results under them."""

import ast
from collections.abc import Iterable

from agentbench.stages.verification.mutation.functions import FoundFunction
from agentbench.stages.verification.mutation.names import FunctionNode, name_of

_VARIABLE = "PYTEST_CURRENT_TEST"
_ATTRIBUTES = frozenset({"nodeid", "callspec"})
_KEEPERS = ("snapshot", "_regression")
"""How the names end of fixtures that compare with a file named after the test."""


def readers_of_own_ids(tree: ast.Module, functions: Iterable[FoundFunction]) -> set[str]:
    """The test functions whose outcome may depend on their ids.

    All of them if a fixture of the file, or anything else in it, looks at an id.
    """
    tests = [function for function in functions if function.looks_like_a_test]
    looks = {function.name: _looks(function.node) for function in tests}
    if _looks(tree) > sum(looks.values()):
        return set(looks)
    return {one.name for one in tests if looks[one.name] or _is_kept(one.node)}


def _looks(root: ast.AST) -> int:
    return sum(_is_look(node) for node in ast.walk(root))


def _is_look(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return _VARIABLE in text
        case ast.Attribute(attr="node", value=value):
            return name_of(value) in ("request", "_request")
        case ast.Attribute(attr=name):
            return name in _ATTRIBUTES
        case _:
            return False


def _is_kept(function: FunctionNode) -> bool:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    return any(name.endswith(_KEEPERS) for name in names)
