"""Finds where a test itself decides that it fails, in another way than by an assertion.

Nothing is removed there: code under test can read the answer in `if parse(x) != 61: pytest.fail()`,
and in what a fixture or a base class of another file compares.
"""

import ast
import re
from collections.abc import Collection, Sequence

from agentbench.python_source.python_syntax import name_of, root_of
from agentbench.python_source.scopes import FunctionNode

# Other calls of fixtures and helpers, such as `monkeypatch.setattr`, are in most tests.
_COMPARES = re.compile(
    "assert|check|compar|equal|expect|gives|golden|match|must|prints|returns|snapshot|stored|verif"
)

_DECISION = re.compile(r"\b(assert|raise|exit)\b|[=!]=")
_RUNS_CODE = frozenset(["compile", "eval", "exec", "os", "runpy", "subprocess"])


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


def comparing_line(
    function: FunctionNode, foreign: Collection[str], own: Collection[str]
) -> int | None:
    """The line of a call by which code of another file, or of a text, may compare a value.

    Args:
        function: A function whose assertions have been replaced.
        foreign: The names that it imports from other files of tests.
        own: The functions of its file.
    """
    parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    outer = parameters.union(foreign).difference(own)  # fixtures, helpers, and `self`
    nodes = list(ast.walk(function))
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    code = _RUNS_CODE if any(map(_DECISION.search, texts)) else frozenset[str]()
    for node in nodes:
        match node:
            case ast.Call(func=func) if code & {name_of(func), root_of(node)}:
                return node.lineno
            case ast.withitem(context_expr=head) if any(map(_is_pattern, ast.walk(head))):
                return head.lineno
            case ast.Expr(value=ast.Call() as call) | ast.withitem(context_expr=ast.Call() as call):
                name, root = name_of(call.func), root_of(call)
                is_known = name in own or (root == "self" and name.startswith("assert"))
                if root in outer and not is_known and _COMPARES.search(name.lower()):
                    return call.lineno
            case _:
                pass
    return None


def _is_pattern(node: ast.AST) -> bool:  # of an unknown way to expect an exception
    return isinstance(node, ast.keyword) and node.arg == "match"
