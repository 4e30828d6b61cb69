"""The nodes of a file at which a change makes a wrong program, not just other words."""

import ast
from collections.abc import Iterator

_LOGS = frozenset({"log", "logger", "logging", "warnings"})
_NOT_BEHAVIOUR = frozenset(
    {"annotation", "returns", "decorator_list", "type_params", "msg", "cause", "type_comment"}
)


def sites(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes to change, in the order of the source.

    Left out are annotations, decorators, docstrings, what is logged, what an error says, and what
    is within an f-string (its nodes' places are only right from Python 3.12 on).
    """
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in _NOT_BEHAVIOUR or (isinstance(tree, ast.Raise) and name == "exc"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _says_only(child):
                yield from sites(child)


def _says_only(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name.lower().lstrip("_") in _LOGS
        case _:
            return False
