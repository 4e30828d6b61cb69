"""Undoes a disguise by computing constants, and tells where two syntax trees differ."""

import ast
from contextlib import suppress
from itertools import zip_longest

_OF_CONSTANTS = (
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Slice, ast.Tuple,
    ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


class _Fold(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        foldable = isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)
        if foldable and all(isinstance(child, _OF_CONSTANTS) for child in ast.walk(node)):
            expression = ast.fix_missing_locations(ast.Expression(node))
            with suppress(ArithmeticError, TypeError):  # 1 / 0, and what only looks constant
                return ast.Constant(eval(compile(expression, "folded", "eval")))
        match node:  # (f"..." + "ab")[:-2]
            case ast.Subscript(
                value=ast.BinOp(left=ast.JoinedStr() as text, right=ast.Constant(value=added)),
                slice=ast.Slice(upper=ast.Constant(value=cut)),
            ):
                rest = added[:cut]
                return ast.BinOp(text, ast.Add(), ast.Constant(rest)) if rest else text
        return node


def folded(text: str) -> ast.AST:
    return _Fold().visit(ast.parse(text))


def differences(one: object, other: object) -> int:
    if isinstance(one, list) and isinstance(other, list):
        return _of_lists(one, other)
    if type(one) is not type(other):
        return 1
    if isinstance(one, ast.Dict):
        return _of_lists(_pairs(one), _pairs(other))
    if isinstance(one, ast.Constant):
        return int(repr(one.value) != repr(other.value))
    if isinstance(one, ast.AST):
        names = one._fields
        return sum(differences(getattr(one, n, None), getattr(other, n, None)) for n in names)
    return int(one != other)


def _pairs(node: ast.Dict) -> list[object]:
    return [ast.Tuple([key, value]) for key, value in zip(node.keys, node.values, strict=True)]


def _of_lists(one: list[object], other: list[object]) -> int:
    if len(one) == len(other):
        return sum(map(differences, one, other))
    longer, shorter = sorted((one, other), key=len, reverse=True)
    for at in range(len(longer)):
        rest = longer[:at] + longer[at + 1 :]
        if sum(differences(a, b) for a, b in zip_longest(rest, shorter)) == 0:
            return 1
    return 99
