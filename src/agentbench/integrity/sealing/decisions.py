"""Finds where a test itself decides that it fails, in another way than by an assertion.

Nothing is removed there: code under test can read the answer in `if parse(x) != 61: pytest.fail()`.
"""

import ast
from collections.abc import Sequence

from agentbench.python_source.python_syntax import name_of


def deciding_line(body: Sequence[ast.AST], *, depends: bool = False) -> int | None:
    """The line where a function fails, if that depends on what happened before.

    Args:
        body: A part of the function.
        depends: Whether a branch leads to this part.
    """
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue  # most likely an input of the test
            case ast.Raise(exc=ast.expr()) if depends:
                return node.lineno
            case ast.Call(func=func) if depends and name_of(func) == "fail":
                return node.lineno
            case _:
                pass
        is_branch = isinstance(
            node, ast.If | ast.IfExp | ast.Try | ast.TryStar | ast.Match | ast.BoolOp
        )
        children = list(ast.iter_child_nodes(node))
        line = deciding_line(children, depends=depends or is_branch)
        if line is not None:
            return line
    return None
