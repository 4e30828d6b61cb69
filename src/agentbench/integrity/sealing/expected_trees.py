"""Expected values as trees, as far as the text of a test shows them.

Parts that are known only in the test's run are `Unknown`.
"""

import ast
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath
from typing import TypeAlias
from uuid import UUID

from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Group,
    Leaf,
    Unreadable,
    of_python,
)
from agentbench.python_source import constants
from agentbench.python_source.python_syntax import dotted_name

_DEEPEST = 40
_MOST_ITEMS = 20_000
_LONGEST_FORMAT = 20
_CONSTANTS = {
    "math.inf": math.inf, "math.nan": math.nan, "math.pi": math.pi, "math.e": math.e,
    "timezone.utc": UTC, "datetime.timezone.utc": UTC, "UTC": UTC, "datetime.UTC": UTC,
    "NotImplemented": NotImplemented,
}  # fmt: skip
_TYPES = (
    "bool", "int", "float", "complex", "str", "bytes", "bytearray", "list", "tuple", "dict", "set",
    "frozenset", "object", "type",
)  # fmt: skip
_CONSTRUCTORS: Mapping[str, Callable[..., object]] = {
    kind.__name__: kind
    for kind in (
        bool, int, float, complex, str, bytearray, bytes, list, tuple, dict, set, frozenset, range,
        slice, date, datetime, time, timedelta, timezone, Decimal, Fraction, UUID, Path, PurePath,
        PurePosixPath, OrderedDict, Counter, deque,
    )
}  # fmt: skip
_CONVERSIONS: Mapping[int, Callable[[object], object]] = {
    -1: lambda same: same,
    ord("r"): repr,
    ord("s"): str,
    ord("a"): ascii,
}
_NEED_ARGUMENTS = ("date", "datetime", "time")  # time() may be time.time
_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError)


@dataclass(frozen=True, slots=True)
class Known:
    """A value that the text shows completely."""

    value: CanonicalValue


@dataclass(frozen=True, slots=True)
class Container:
    """A list, tuple, set or dict whose parts are not all known; a dict has pairs."""

    kind: str
    items: tuple["ExpectedTree", ...]


@dataclass(frozen=True, slots=True)
class Constructed:
    """A call of a class, or of `mock.call`."""

    name: str
    positional: tuple["ExpectedTree", ...]
    keywords: tuple[tuple[str, "ExpectedTree"], ...]


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enumeration, as its name suggests."""

    class_name: str
    name: str


@dataclass(frozen=True, slots=True)
class Approximate:
    """`pytest.approx`, with its tolerances as they were given."""

    tree: "ExpectedTree"
    rel: float | None = None
    abs: float | None = None
    nan_ok: bool = False


@dataclass(frozen=True, slots=True)
class Anything:
    """`mock.ANY`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the text does not show."""


ExpectedTree: TypeAlias = (
    Known | Container | Constructed | EnumMember | Approximate | Anything | Unknown
)
Side: TypeAlias = ExpectedTree | CanonicalValue
"""One side of a comparison: an expected value, or a recorded one."""


class _NotConstantError(Exception):
    """The value of an expression is not known."""


def expected_tree(node: ast.expr, names: Mapping[str, ast.expr]) -> ExpectedTree:
    """The tree of an expression.

    Args:
        node: the expression.
        names: the expressions of constant names.
    """
    return _Reader(names).tree(node, _DEEPEST)


@dataclass(frozen=True, slots=True)
class _Reader:
    names: Mapping[str, ast.expr]

    def tree(self, node: ast.expr, depth: int) -> ExpectedTree:
        """The tree of an expression that is nested at most so deep."""
        if depth == 0:
            return Unknown()
        try:
            value = of_python(self.python(node, depth))
        except (_NotConstantError, RecursionError, *_ERRORS):
            return self._structure(node, depth - 1)
        return Unknown() if isinstance(value, Unreadable) else Known(value)

    def _structure(self, node: ast.expr, depth: int) -> ExpectedTree:
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.tree(self.names[name], depth)
            case ast.Name(id="ANY") | ast.Attribute(attr="ANY"):
                return Anything()
            case ast.Name(id=name) if name in _TYPES:
                return Known(Group("class", (Leaf("str", f"builtins.{name}"),)))
            case ast.Attribute(value=owner, attr=name) if name.isupper():
                class_name = dotted_name(owner).rpartition(".")[2]
                is_class = class_name[:1].isupper() and not class_name.isupper()
                return EnumMember(class_name, name) if is_class else Unknown()
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                if any(isinstance(element, ast.Starred) for element in elements):
                    return Unknown()
                trees = tuple(self.tree(element, depth) for element in elements)
                return Container(type(node).__name__.lower(), trees)
            case ast.Dict(keys=keys, values=items):
                pairs = zip(keys, items, strict=True)
                found = [(self.tree(k, depth), self.tree(v, depth)) for k, v in pairs if k]
                if len(found) < len(items):  # {**more}
                    return Unknown()
                return Container("dict", tuple(Container("pair", pair) for pair in found))
            case ast.Call():
                return self._call(node, depth)
            case _:
                return Unknown()

    def _call(self, node: ast.Call, depth: int) -> ExpectedTree:
        parts = dotted_name(node.func).split(".")
        name = parts[-1]
        has_stars = any(isinstance(argument, ast.Starred) for argument in node.args)
        if not name or has_stars or any(keyword.arg is None for keyword in node.keywords):
            return Unknown()
        if name == "approx" and node.args:
            given = dict(zip(("rel", "abs", "nan_ok"), node.args[1:], strict=False))
            given |= {str(keyword.arg): keyword.value for keyword in node.keywords}
            try:
                found = {name: self.python(value, depth) for name, value in given.items()}
                rel, abs_ = (_number_or_none(found.get(name)) for name in ("rel", "abs"))
            except (_NotConstantError, *_ERRORS):
                return Unknown()
            nan_ok = found.get("nan_ok") is True
            return Approximate(self.tree(node.args[0], depth), rel, abs_, nan_ok)
        positional = tuple(self.tree(argument, depth) for argument in node.args)
        keywords = tuple((str(k.arg), self.tree(k.value, depth)) for k in node.keywords)
        if name == "dict" and not positional:
            pairs = ((Known(of_python(key)), tree) for key, tree in keywords)
            return Container("dict", tuple(Container("pair", pair) for pair in pairs))
        if "call" in parts:  # `mock.call.send(1)` is the call of an attribute
            return Constructed(".".join(parts[parts.index("call") :]), positional, keywords)
        if name in _CONSTRUCTORS or not name.lstrip("_")[:1].isupper():
            return Unknown()
        return Constructed(name, positional, keywords)

    def python(self, node: ast.expr, depth: int) -> object:
        if depth == 0:
            raise _NotConstantError
        value = constants.evaluate(node, self.names)
        if not isinstance(value, constants.NotConstant):
            return value
        match node:
            case ast.Constant(value=constant):
                return constant  # an ellipsis, an infinite float
            case ast.Name(id=name) if name in self.names:
                return self.python(self.names[name], depth - 1)
            case ast.Name() | ast.Attribute() if dotted_name(node) in _CONSTANTS:
                return _CONSTANTS[dotted_name(node)]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.python(operand, depth - 1)
                if isinstance(number, int | float | complex | Decimal | Fraction | timedelta):
                    return -number
            case ast.JoinedStr(values=parts):
                return "".join(self._formatted(part, depth - 1) for part in parts)
            case ast.Call():
                return self._constructed(node, depth - 1)
            case ast.List(elts=elements):
                return [self.python(element, depth - 1) for element in elements]
            case ast.Tuple(elts=elements):
                return tuple(self.python(element, depth - 1) for element in elements)
            case ast.Set(elts=elements):
                return {self.python(element, depth - 1) for element in elements}
            case ast.Dict(keys=keys, values=items) if None not in keys:
                return {
                    self.python(key, depth - 1): self.python(item, depth - 1)
                    for key, item in zip(keys, items, strict=True)
                    if key is not None
                }
            case _:
                pass
        raise _NotConstantError

    def _formatted(self, part: ast.expr, depth: int) -> str:
        match part:
            case ast.Constant(value=str(text)):
                return text
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                found = self.python(value, depth)
                found = _CONVERSIONS[conversion](found)
                style = "" if spec is None else str(self.python(spec, depth))
                if len(style) <= _LONGEST_FORMAT and not any(map(str.isdigit, style[4:])):
                    return format(found, style)
            case _:
                pass
        raise _NotConstantError

    def _constructed(self, node: ast.Call, depth: int) -> object:
        name = dotted_name(node.func).rpartition(".")[2]
        if name not in _CONSTRUCTORS or (name in _NEED_ARGUMENTS and not node.args):
            raise _NotConstantError
        positional = [self.python(argument, depth) for argument in node.args]
        keywords = {str(k.arg): self.python(k.value, depth) for k in node.keywords}
        for argument in positional:
            is_large = isinstance(argument, range) and len(argument) > _MOST_ITEMS
            if is_large or (name.startswith("byte") and isinstance(argument, int)):
                raise _NotConstantError
        return _CONSTRUCTORS[name](*positional, **keywords)


def _number_or_none(value: object) -> float | None:
    if value is None or isinstance(value, int | float | Decimal | Fraction):
        return None if value is None else float(value)
    raise _NotConstantError
