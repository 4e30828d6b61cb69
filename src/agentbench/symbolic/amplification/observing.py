"""Turns the assertions of tests into observations of what they would have judged."""

import ast
from collections.abc import Iterable
from typing import TypeGuard

OBSERVER = "__agentbench__"
_EQUAL = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_PAIRS = ("assertEqual", "assertEquals", "assertNotEqual", "assertAlmostEqual")
_EQUALS = ("assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual")


class AssertionObserver(ast.NodeTransformer):
    """Turns assertions into observations; `places` is what each of them looks at, as source."""

    def __init__(self) -> None:
        """Start with no place."""
        self.places: list[str] = []

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """What is compared is seen from both sides; of all else, whether it holds."""
        if _is_private(node.test):
            return [ast.copy_location(ast.Pass(), node)]
        sides = _sides(node.test)
        if sides is None:
            return [self._see("truth", node.test, node)]
        return [self._see("see", side, node) for side in sides] or [
            ast.copy_location(ast.Pass(), node)
        ]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """The assertions of unittest."""
        call = node.value
        if not _is_assertion(call):
            return node
        if _is_private(call):
            return ast.copy_location(ast.Pass(), node)
        if call.func.attr in _PAIRS + _EQUALS:
            sides = _varying(call.args[:2])
            return [self._see("see", side, node) for side in sides] or [
                ast.copy_location(ast.Pass(), node)
            ]
        held = ast.Lambda(args=_no_arguments(), body=call)
        return self._see("holds", held, node, shown=call)

    def visit_With(self, node: ast.With) -> ast.With:
        """Where an error is expected, any is seen."""
        self.generic_visit(node)
        for item in node.items:
            if _expects_error(item.context_expr):
                place = ast.Constant(self._place(item.context_expr))
                item.context_expr = ast.copy_location(_call("raises", [place]), item.context_expr)
        return node

    def _see(
        self, how: str, value: ast.expr, node: ast.stmt, *, shown: ast.expr | None = None
    ) -> ast.stmt:
        place = ast.Constant(self._place(shown or value))
        return ast.copy_location(ast.Expr(_call(how, [place, value])), node)

    def _place(self, node: ast.expr) -> int:
        self.places.append(ast.unparse(node))
        return len(self.places) - 1


def _call(how: str, arguments: list[ast.expr]) -> ast.Call:
    observer = ast.Name(OBSERVER, ast.Load())
    return ast.Call(ast.Attribute(observer, how, ast.Load()), arguments, [])


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _sides(test: ast.expr) -> list[ast.expr] | None:
    """What an equality compares; None where it is something else."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _EQUAL):
        return _varying([test.left, *test.comparators])
    return None


def _varying(sides: Iterable[ast.expr]) -> list[ast.expr]:
    return [
        side
        for side in sides
        if any(isinstance(one, ast.Call | ast.Name) for one in ast.walk(side))
    ]


class _Assertion(ast.Call):
    func: ast.Attribute


def _is_assertion(node: ast.expr) -> TypeGuard[_Assertion]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
        and node.func.attr.startswith("assert")
    )


def _expects_error(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("raises", "assertRaises", "assertRaisesRegex")


def _is_private(node: ast.expr) -> bool:
    """Whether it looks into what an honest fix may have otherwise."""
    names = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return any(name.startswith("_") and not name.endswith("__") for name in names)
