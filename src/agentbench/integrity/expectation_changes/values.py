"""Evaluates constant expressions, and chooses other values that look as likely as theirs."""

import ast
import builtins
import math
import operator
import re
import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from random import Random
from typing import TypeAlias, TypeGuard

from msgspec import Struct

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
_MOST_DEPTH = 50
_LONGEST_REPEAT = 20_000
_MOST_BITS = 4096
_FAR = 3000
_MAX_ATTEMPTS = 20
_LITERAL_PATTERN = re.compile(r"\^?((?:[\w\s,:;'\"=<>@!/%&-]|\\[^\w\s])*)\$?")
_ERRORS = (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, GeneratorExit)
_WARNINGS = (UnicodeWarning, BytesWarning, ImportWarning, SyntaxWarning)


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
        """The values of several expressions."""
        if any(item is None for item in nodes):
            raise _NotConstantError  # {**more}
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
    raise _NotConstantError  # a difference of sets, an infinity


class Distance(Struct, frozen=True, kw_only=True):
    """The distance of a new value from the old one."""

    relative: float = 0.0
    absolute: float = 0.0
    far: bool = False  # whether no likely collection or text may contain it

    def margin(self, value: float) -> float:
        """The minimum change of a number: above the tolerance, which the old value may use up."""
        return 4 * (self.relative * abs(value) + self.absolute)


NEAR = Distance()
FAR = Distance(far=True)


def other_value(
    value: Scalar, rng: Random, distance: Distance = NEAR, avoid: Collection[object] = ()
) -> Scalar:
    """Another value of the same kind, different from its neighbours in a set."""
    new = _another(value, rng, distance)
    for _ in range(_MAX_ATTEMPTS):
        if new not in avoid and new != value:
            return new
        new = _another(new, rng, distance)
    return _another(value, rng, FAR)


def other_text(text: str, rng: Random, distance: Distance = NEAR) -> str:
    """A text that differs in a character, or in a whole word if it must be far."""
    if distance.far:
        cut = rng.randrange(len(text) + 1) if len(text) > 3 else len(text)
        return text[:cut] + "".join(rng.sample(string.ascii_lowercase, 6)) + text[cut:]
    positions = [at for at, character in enumerate(text) if _alphabet(character)]
    if not positions:
        return text + rng.choice(string.ascii_lowercase)
    at = rng.choice(positions)
    if len(text) > 4 and rng.random() < 0.15:
        return text[:at] + text[at + 1 :]
    others = _alphabet(text[at]).replace(text[at], "")
    return text[:at] + rng.choice(others) + text[at + 1 :]


def other_pattern(pattern: str, rng: Random) -> str | None:
    """A regular expression that certainly does not match the original's texts, or `None`."""
    literal = _LITERAL_PATTERN.fullmatch(pattern)
    if literal is not None and len(literal[1]) > 2:
        text = re.sub(r"\\(.)", r"\1", literal[1])
        new = other_text(pattern, rng)
        if _compiles(new) and re.search(new, text) is None:
            return new
    word = "".join(rng.sample(string.ascii_lowercase, 4))
    new = f"{pattern} {word}"
    return new if "|" not in pattern and "(?" not in pattern and _compiles(new) else None


def other_error(names: Sequence[str], rng: Random) -> str | None:
    """The name of a built-in exception that is neither a base nor a subclass of the named ones.

    `None` for exceptions such as KeyboardInterrupt, which would end the run.
    """
    warning = names[0].endswith("Warning")
    usual: tuple[type[BaseException], ...] = _WARNINGS if warning else _ERRORS
    known = [found for name in names if isinstance(found := getattr(builtins, name, None), type)]
    if any(issubclass(BaseException, one) or not issubclass(one, Exception) for one in known):
        return None
    apart = [o for o in usual if not any(issubclass(o, k) or issubclass(k, o) for k in known)]
    common = [other for other in apart if other is not GeneratorExit] or apart
    return rng.choice(common).__name__ if common else None


def _another(value: Scalar, rng: Random, distance: Distance) -> Scalar:
    match value:
        case bool():
            return not value
        case None:
            return rng.choice((True, False))
        case str():
            return other_text(value, rng, distance)
        case bytes():
            return other_text(value.decode("latin-1"), rng, distance).encode("latin-1")
        case _:
            return _number(value, rng, distance)


def _number(value: complex, rng: Random, distance: Distance) -> complex:
    if isinstance(value, int):
        least = 1
        if distance.far:
            least += rng.randrange(_FAR, 3 * _FAR)
        elif distance.relative or distance.absolute:
            least += int(distance.margin(value))
        elif abs(value) >= 100 and rng.random() < 0.5:
            digits = int(abs(value).bit_length() * math.log10(2))  # str() refuses huge numbers
            return value + rng.choice((-1, 1)) * int(10 ** rng.randrange(digits - 1))
        step = least + rng.randrange(3)
        return value + (-step if value > step and rng.random() < 0.5 else step)
    if isinstance(value, float):
        return _real(value, rng, distance)
    return value + rng.choice((1, 2, -1, 1j, 2j))


def _real(value: float, rng: Random, distance: Distance) -> float:
    margin = distance.margin(value) + (rng.randrange(_FAR, 3 * _FAR) if distance.far else 0)
    for scale in (1.0, abs(value)):  # adding 1 does not change a very large number
        step = 2 * margin + rng.choice((0.25, 0.5, 1.0, 1.5, 2.0)) * scale
        new = value - step if value > step and rng.random() < 0.5 else value + step
        if math.isfinite(new) and abs(new - value) > margin:
            return new
    return 1.5


def _alphabet(character: str) -> str:
    for alphabet in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if character in alphabet:
            return alphabet
    return ""


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
