"""Which statements of a test are run for certain when it passes, and which perhaps."""

import ast
from collections.abc import Iterator, Sequence

from agentbench.stages.verification.mutation.names import name_of, own_nodes

PERHAPS = 3
"""Doubt about a statement in a branch, which outweighs that about any expression."""
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def statements(body: Sequence[ast.stmt], doubt: int = 0) -> Iterator[tuple[ast.stmt, int]]:
    """Each statement with a doubt: 0 if it is run, 1 if most likely, `PERHAPS` in a branch.

    What stands where an error is expected, or may be swallowed, is left out: it may never be
    reached, and an assertion that fails there may be taken for the error.
    """
    for statement in body:
        yield statement, doubt
        yield from _within(statement, doubt)
        if isinstance(statement, _ENDS):
            return
        if may_return(statement):
            doubt = max(doubt, PERHAPS)


def may_return(statement: ast.stmt) -> bool:
    """Whether a function may end within a statement, before those that follow."""
    return any(isinstance(node, ast.Return) for node in own_nodes([statement]))


def _within(node: ast.stmt, doubt: int) -> Iterator[tuple[ast.stmt, int]]:
    if isinstance(node, ast.With | ast.AsyncWith) and not _raises(node):
        yield from statements(node.body, doubt)
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield from statements(node.body, doubt + (not _runs(node.iter)))
        yield from statements(node.orelse, PERHAPS)
    elif isinstance(node, ast.While):
        yield from statements(node.body, doubt + 1)
        yield from statements(node.orelse, PERHAPS)
    elif isinstance(node, ast.Try | ast.TryStar):
        yield from statements(node.body, PERHAPS if node.handlers else doubt)
        yield from statements([*node.orelse, *node.finalbody], doubt)
    for branch in _branches(node):
        yield from statements(branch, PERHAPS)


def _branches(node: ast.stmt) -> list[list[ast.stmt]]:
    match node:
        case ast.If(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Match(cases=cases):
            return [case.body for case in cases]
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            return [handler.body for handler in handlers]
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return [body]
        case _:
            return []


def _raises(node: ast.With | ast.AsyncWith) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(name_of(call.func) in _RAISING for call in calls)


def _runs(node: ast.expr) -> bool:
    """Whether a loop over it surely has a round."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return any(not isinstance(element, ast.Starred) for element in elements)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            return any(isinstance(item, ast.Constant) and item.value for item in arguments)
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys), attr="items")):
            return bool(keys)
        case ast.Name(id=name):
            return name.isupper()  # a table of the module
        case _:
            return False
