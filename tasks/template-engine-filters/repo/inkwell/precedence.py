"""Parses expressions by the strength of their operators.

`_expression(strength)` reads an operand and then as many operators as bind more tightly than
`strength`, which is how the rows of the table in the README come about. See V. Pratt, "Top Down
Operator Precedence" (1973).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from inkwell.errors import TemplateError
from inkwell.expressions import Binary, Expression, Filtered, ListOf, Literal, Lookup, Name, Unary
from inkwell.stream import TokenStream

_STRENGTH = {
    "or": 1,
    "and": 2,
    # 3: not
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in"], 4),
    "~": 5,
    "+": 6,
    "-": 6,
    "|": 7,
    "*": 8,
    "/": 8,
    "%": 8,
    # 9: negative
    ".": 10,
    "[": 10,
}
_NOT = 3
_NEGATIVE = 9

_CONSTANTS = {"true": True, "false": False, "none": None}
_RESERVED = {"and", "or", "not", "in"}
_ESCAPES = {"n": "\n", "t": "\t"}


class ExpressionParser:
    """Reads expressions from a stream of tokens."""

    def __init__(self, stream: TokenStream, filters: Mapping[str, Callable[..., object]]) -> None:
        self._stream = stream
        self._filters = filters

    def parse(self) -> Expression:
        """Read one expression, up to the first token that cannot be a part of it."""
        return self._expression(0)

    def _expression(self, strength: int) -> Expression:
        left = self._operand()
        while self._strength_of_next() > strength:
            left = self._continue(left)
        return left

    def _strength_of_next(self) -> int:
        token = self._stream.next
        return _STRENGTH.get(token.text, 0) if token.kind in ("op", "name") else 0

    def _continue(self, left: Expression) -> Expression:
        """Read an operator, and what belongs to it on its right."""
        sign = self._stream.take()
        if sign.text == ".":
            return Lookup(left, Literal(self._stream.expect("name").text))
        if sign.text == "[":
            key = self.parse()
            self._stream.expect("]")
            return Lookup(left, key)
        if sign.text == "|":
            return self._filter(left)
        return Binary(sign.text, left, self._expression(_STRENGTH[sign.text]), sign.line)

    def _filter(self, subject: Expression) -> Filtered:
        name = self._stream.expect("name")
        if name.text not in self._filters:
            raise TemplateError(f"there is no filter {name.text}", name.line)
        arguments = self._items(")") if self._stream.accept("(") else ()
        return Filtered(subject, name.text, self._filters[name.text], arguments, name.line)

    def _operand(self) -> Expression:
        token = self._stream.take()
        if token.kind == "number":
            return Literal(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "string":
            return Literal(_unquote(token.text))
        if token.kind == "op" and token.text == "-":
            return Unary("-", self._expression(_NEGATIVE), token.line)
        if token.kind == "op" and token.text == "[":
            return ListOf(self._items("]"))
        if token.kind == "op" and token.text == "(":
            inner = self.parse()
            self._stream.expect(")")
            return inner
        if token.text == "not":
            return Unary("not", self._expression(_NOT), token.line)
        if token.kind != "name" or token.text in _RESERVED:
            raise TemplateError(f"expected a value, found {token.text or 'the end'}", token.line)
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text])
        return Name(token.text)

    def _items(self, closing: str) -> tuple[Expression, ...]:
        items: list[Expression] = []
        while not self._stream.accept(closing):
            if items:
                self._stream.expect(",")
            items.append(self.parse())
        return tuple(items)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
