"""Evaluates constant expressions of Python source."""

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeGuard

Scalar: TypeAlias = str | bytes | bool | int | float | complex | None
LiteralValue: TypeAlias = (
    Scalar
    | tuple["LiteralValue", ...]
    | list["LiteralValue"]
    | set["LiteralValue"]
    | dict["LiteralValue", "LiteralValue"]
)
"""A constant value; members of sets and keys of dicts are hashable."""

Names: TypeAlias = Mapping[str, ast.expr]  # the expression of a constant name
_OPERATORS: Mapping[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_TELLING = 4  # characters; most files have shorter texts
_USUAL = 1000  # numbers up to this are in most files
_LONG = 12  # characters of a container, such as [1, 2, 3, 4]
_MOST_DEPTH = 50
_LONGEST_REPEAT = 20_000
_MOST_BITS = 4096


class NotConstant:
    """The value of an expression that is not constant, or whose value is too large."""


class _NotConstantError(Exception):
    """A part of an expression is not constant."""


def evaluate(node: ast.expr, names: Names | None = None) -> LiteralValue | NotConstant:
    """The value of an expression of literals, containers of them and simple arithmetic.

    It is `NotConstant` if the expression is not constant, or its value is too large.
    """
    try:
        return _evaluate(node, names or {}, _MOST_DEPTH)
    except _NotConstantError:
        return NotConstant()


def is_scalar(value: object) -> TypeGuard[Scalar]:
    """Whether it is a single value with an exact literal."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    return value is None or isinstance(value, str | bytes | int)


def is_telling(value: object) -> bool:
    """Whether other files most likely do not have a constant by chance."""
    match value:
        case str() | bytes():
            return len(value) >= _TELLING
        case int() | float() | complex() if not isinstance(value, bool):
            return abs(value) > _USUAL
        case list() | tuple() | dict() | set() | frozenset():
            return len(repr(value)) >= _LONG
        case _:
            return False


def is_immutable(value: LiteralValue) -> bool:
    """Whether every use of it may have a copy of its own."""
    if isinstance(value, tuple):
        return all(is_immutable(item) for item in value)
    return is_scalar(value)


def _evaluate(node: ast.expr, names: Names, depth: int) -> LiteralValue:
    if depth == 0:
        raise _NotConstantError
    match node:
        case ast.Constant(value=value) if is_scalar(value):
            return value
        case ast.Name(id=name) if name in names:
            return _evaluate(names[name], names, depth - 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _evaluate(operand, names, depth - 1)
            if not isinstance(number, int | float | complex):
                raise _NotConstantError
            return -number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            both = _evaluate(left, names, depth - 1), _evaluate(right, names, depth - 1)
            return _combined(type(op), *both)
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
            return _container(node, names, depth - 1)
        case _:
            raise _NotConstantError


def _container(
    node: ast.Tuple | ast.List | ast.Set | ast.Dict, names: Names, depth: int
) -> LiteralValue:
    def items(nodes: Iterable[ast.expr | None]) -> list[LiteralValue]:
        if any(item is None for item in nodes):
            # `{**more}` has no key there.
            raise _NotConstantError
        return [_evaluate(item, names, depth) for item in nodes if item is not None]

    try:
        match node:
            case ast.Tuple(elts=elements):
                return tuple(items(elements))
            case ast.List(elts=elements):
                return items(elements)
            case ast.Set(elts=elements):
                return set(items(elements))
            case ast.Dict(keys=keys, values=values):
                return dict(zip(items(keys), items(values), strict=True))
    except TypeError as error:
        raise _NotConstantError from error


def _combined(op: type[ast.operator], left: LiteralValue, right: LiteralValue) -> LiteralValue:
    # A test could fill the memory with `"x" * 10**9`.
    for one, other in ((left, right), (right, left)):
        if isinstance(one, int) and isinstance(other, str | bytes | list | tuple):
            if one * len(other) > _LONGEST_REPEAT:
                raise _NotConstantError
        elif isinstance(one, int) and one.bit_length() > _MOST_BITS:
            raise _NotConstantError
    try:
        found = _OPERATORS[op](left, right)
    except (TypeError, ArithmeticError) as error:
        raise _NotConstantError from error
    if is_scalar(found) or isinstance(found, list | tuple):
        return found
    # Such as a difference of sets, or an infinity, which have no literal.
    raise _NotConstantError
