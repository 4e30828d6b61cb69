"""What templates are made of once they are parsed, and how they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from inkwell.errors import TemplateError
from inkwell.expressions import Expression, Scope
from inkwell.markup import escape


class Statement(Protocol):
    """A part of a template."""

    def render(self, scope: Scope) -> Iterator[str]:
        """Yield what it prints, piece by piece."""


@dataclass(frozen=True)
class Block:
    """Statements one after the other."""

    statements: tuple[Statement, ...]

    def render(self, scope: Scope) -> Iterator[str]:
        for statement in self.statements:
            yield from statement.render(scope)


@dataclass(frozen=True)
class Text:
    """What stands outside of brackets."""

    text: str

    def render(self, scope: Scope) -> Iterator[str]:
        yield self.text


@dataclass(frozen=True)
class Print:
    """`{{ expression }}`"""

    expression: Expression

    def render(self, scope: Scope) -> Iterator[str]:
        yield escape(self.expression.value(scope))


@dataclass(frozen=True)
class If:
    """`{% if %}` with its branches; the condition of `else` is always true."""

    branches: tuple[tuple[Expression, Block], ...]

    def render(self, scope: Scope) -> Iterator[str]:
        for condition, block in self.branches:
            if condition.value(scope):
                yield from block.render(scope)
                return


@dataclass(frozen=True)
class For:
    """`{% for name in items %}`; the second block is for no items at all."""

    name: str
    items: Expression
    block: Block
    otherwise: Block
    line: int

    def render(self, scope: Scope) -> Iterator[str]:
        try:
            items = list(self.items.value(scope) or ())
        except TypeError as error:
            raise TemplateError(f"cannot loop over it: {error}", self.line) from error
        if not items:
            yield from self.otherwise.render(scope)
        for index, item in enumerate(items, start=1):
            loop = {"index": index, "first": index == 1, "last": index == len(items)}
            yield from self.block.render({**scope, self.name: item, "loop": loop})
