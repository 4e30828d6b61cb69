"""The expected side of the expressions that a test asserts."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from agentbench.stages.verification.mutation.changes import FAR, NEAR, Distance
from agentbench.stages.verification.mutation.expected import (
    Bound,
    Choices,
    ExpectedValue,
)
from agentbench.stages.verification.mutation.flow import PERHAPS
from agentbench.stages.verification.mutation.leaves import Reader
from agentbench.stages.verification.mutation.names import name_of, names_in
from agentbench.stages.verification.mutation.value_kind import ValueKind
from agentbench.stages.verification.mutation.values import (
    NotConstantError,
    Scalar,
    is_scalar,
)

_LESS = (ast.Lt, ast.LtE)
_GREATER = (ast.Gt, ast.GtE)
_ARGUMENTS = 2
"""Doubt about the arguments of a call: another one need not give another result."""
_CLOSE = {
    "isclose": {"rel_tol": 1e-5, "abs_tol": 1e-8},
    "allclose": {"rtol": 1e-5, "atol": 1e-8},
}


def asserted(reader: Reader, test: ast.expr, doubt: int) -> Iterator[list[ExpectedValue]]:
    """The expected values of a condition that must hold, by comparison."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from asserted(reader, value, doubt)
    elif isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        for op, one, other in zip(test.ops, sides, test.comparators, strict=False):
            yield compared(reader, (one, other), op, doubt)
    elif isinstance(test, ast.Call):
        yield from _asked(reader, test, doubt)


def _asked(reader: Reader, call: ast.Call, doubt: int) -> Iterator[list[ExpectedValue]]:
    name = name_of(call.func)
    match call.args:
        case [ast.GeneratorExp(elt=element)] if name == "all":
            yield from asserted(reader, element, doubt + 1)
        case [one, other, *_] if name in _CLOSE:
            tolerance = reader.tolerance(call, _CLOSE[name])
            if tolerance is not None:
                yield equal(reader, (one, other), doubt, tolerance)
        case [text] if name in ("startswith", "endswith"):
            yield reader.leaves(text, doubt + 1, FAR)
        case _:
            pass


def compared(
    reader: Reader, sides: tuple[ast.expr, ast.expr], op: ast.cmpop, doubt: int
) -> list[ExpectedValue]:
    """The expected values of one comparison."""
    left, right = sides
    match op:
        case ast.Eq():
            return equal(reader, sides, doubt)
        case ast.Is():
            return [v for side in sides for v in _singleton(reader, side, doubt)]
        case ast.In():
            return _member(reader, left, right, doubt + 1)
        case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE():
            return _bounded(reader, sides, op, doubt + 2)
        case _:
            return []  # what differs from one value still differs from another


def equal(
    reader: Reader, sides: tuple[ast.expr, ast.expr], doubt: int, distance: Distance = NEAR
) -> list[ExpectedValue]:
    """The values of the side that is known beforehand, of two that must be equal."""
    left, right = sides
    if reader.is_constant(left) and reader.is_constant(right):
        return []
    on_left = _apart(reader, left, right, doubt, distance)
    on_right = _apart(reader, right, left, doubt, distance)
    if isinstance(left, ast.Call) and not name_of(left.func)[:1].isupper():
        on_left = [value for value in on_left if value.doubt < doubt + _ARGUMENTS]
    least_left = min((value.doubt for value in on_left), default=doubt + 99)
    least_right = min((value.doubt for value in on_right), default=doubt + 99)
    return on_left if least_left < least_right else on_right


def _apart(
    reader: Reader, side: ast.expr, other: ast.expr, doubt: int, distance: Distance
) -> list[ExpectedValue]:
    """The values of a side, but for those by which the other side may change with it."""
    around = reader.around
    values = reader.leaves(side, doubt, distance)
    if not around.columns:
        return values
    own = around.function.origins(side) & around.columns.keys()
    shared = not own.isdisjoint(names_in(other))
    extra = PERHAPS if own & around.function.origins(other) else 0
    within = around.source.span(side)
    found = []
    for value in values:
        if within.start <= value.span.start <= within.end:
            found.append(value)  # it stands here, and nowhere else
        elif not shared:
            found.append(replace(value, doubt=value.doubt + extra))
    return found


def _singleton(reader: Reader, side: ast.expr, doubt: int) -> list[ExpectedValue]:
    known = isinstance(side, ast.Constant) and (side.value is None or isinstance(side.value, bool))
    return reader.leaves(side, doubt) if known else []


def _member(reader: Reader, left: ast.expr, right: ast.expr, doubt: int) -> list[ExpectedValue]:
    if reader.is_constant(left) or isinstance(left, ast.JoinedStr | ast.Tuple):
        return reader.leaves(left, doubt, FAR)
    if isinstance(left, ast.Name) and left.id in reader.around.columns:
        return reader.leaves(left, doubt, FAR)
    if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
        return []
    values: list[Scalar] = []
    for element in right.elts:
        try:
            value = reader.value_of(element)
        except NotConstantError:
            return []
        if not is_scalar(value) or value is None or isinstance(value, bool):
            return []
        values.append(value)
    text = reader.around.source.segment(right)
    way = Choices(values=tuple(values), opening=text[0], closing=text[-1])
    return [reader.value(right, ValueKind.CONTAINER, doubt, way)] if text[0] in "([{" else []


def _bounded(
    reader: Reader, sides: tuple[ast.expr, ast.expr], op: ast.cmpop, doubt: int
) -> list[ExpectedValue]:
    for side, upper in (
        (sides[1], isinstance(op, _LESS)),
        (sides[0], isinstance(op, _GREATER)),
    ):
        if not isinstance(side, ast.Constant | ast.UnaryOp | ast.Name):
            continue
        try:
            value = reader.value_of(side)
        except NotConstantError:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            way = Bound(value=value, upper=upper)
            return [reader.value(side, ValueKind.BOUND, doubt, way)]
    return []
