"""What expressions are made of once they are parsed, and how they get their values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inkwell.errors import TemplateError
from inkwell.markup import concatenate

Scope = Mapping[str, Any]


class Expression(Protocol):
    """Something that has a value where certain names are known."""

    def value(self, scope: Scope) -> Any:
        """Work it out; raises TemplateError if an operator or a filter cannot be applied."""


@dataclass(frozen=True)
class Literal:
    """A value that is written down."""

    constant: Any

    def value(self, scope: Scope) -> Any:
        return self.constant


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str

    def value(self, scope: Scope) -> Any:
        return scope.get(self.name)


@dataclass(frozen=True)
class ListOf:
    """A list."""

    items: tuple[Expression, ...]

    def value(self, scope: Scope) -> Any:
        return [item.value(scope) for item in self.items]


@dataclass(frozen=True)
class Lookup:
    """An attribute, a key or an index; none if it does not exist."""

    owner: Expression
    key: Expression

    def value(self, scope: Scope) -> Any:
        owner, key = self.owner.value(scope), self.key.value(scope)
        try:
            return owner[key]
        except (TypeError, LookupError):
            # A leading underscore would lead into the insides of Python.
            if isinstance(key, str) and not key.startswith("_"):
                return getattr(owner, key, None)
            return None


@dataclass(frozen=True)
class Filtered:
    """A value that has gone through a filter."""

    subject: Expression
    name: str
    function: Callable[..., Any]
    arguments: tuple[Expression, ...]
    line: int

    def value(self, scope: Scope) -> Any:
        values = [part.value(scope) for part in (self.subject, *self.arguments)]
        try:
            return self.function(*values)
        except (TypeError, ValueError, LookupError) as error:
            raise TemplateError(f"filter {self.name}: {error}", self.line) from error


@dataclass(frozen=True)
class Unary:
    """An operator with one operand."""

    sign: str
    operand: Expression
    line: int

    def value(self, scope: Scope) -> Any:
        operand = self.operand.value(scope)
        if self.sign == "not":
            return not operand
        return _apply(operator.neg, self.sign, self.line, operand)


@dataclass(frozen=True)
class Binary:
    """An operator between two operands. `and` and `or` skip the second one if they can."""

    sign: str
    left: Expression
    right: Expression
    line: int

    def value(self, scope: Scope) -> Any:
        left = self.left.value(scope)
        if self.sign == "and":
            return left and self.right.value(scope)
        if self.sign == "or":
            return left or self.right.value(scope)
        return _apply(OPERATORS[self.sign], self.sign, self.line, left, self.right.value(scope))


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "+": operator.add,
    "-": operator.sub,
    "~": concatenate,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, container: item in container,
}


def _apply(function: Callable[..., Any], sign: str, line: int, *operands: Any) -> Any:
    try:
        return function(*operands)
    except (TypeError, ArithmeticError) as error:
        shown = " and ".join("none" if o is None else repr(o) for o in operands)
        raise TemplateError(f"cannot apply {sign} to {shown}", line) from error
