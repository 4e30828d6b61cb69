"""Parses templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inkwell.errors import TemplateError
from inkwell.expressions import Expression, Literal
from inkwell.lexer import tokenize
from inkwell.precedence import ExpressionParser
from inkwell.statements import Block, For, If, Print, Statement, Text
from inkwell.stream import TokenStream

Filters = Mapping[str, Callable[..., object]]


def parse(source: str, filters: Filters) -> Block:
    """The statements of a template.

    Raises:
        TemplateError: it cannot be read.
    """
    block, _ = _Parser(source, filters).block()
    return block


class _Parser:
    def __init__(self, source: str, filters: Filters) -> None:
        self._stream = TokenStream(tokenize(source))
        self._expressions = ExpressionParser(self._stream, filters)

    def block(self, *endings: str) -> tuple[Block, str]:
        """Statements up to one of the tags that end them, and the name of that tag."""
        opened = self._stream.next.line
        statements: list[Statement] = []
        while self._stream.next.kind != "end":
            token = self._stream.take()
            if token.kind == "text":
                statements.append(Text(token.text))
            elif token.kind == "{{":
                statements.append(Print(self._expressions.parse()))
                self._stream.expect("}}")
            else:
                tag = self._stream.expect("name")
                if tag.text in ("elif", "else", "endif", "endfor"):
                    if tag.text not in endings:
                        raise TemplateError(f"unexpected {tag.text}", tag.line)
                    return Block(tuple(statements)), tag.text
                statements.append(self._statement(tag.text, tag.line))
        if endings:
            raise TemplateError(f"expected {endings[-1]} for what is opened here", opened)
        return Block(tuple(statements)), ""

    def _statement(self, tag: str, line: int) -> Statement:
        if tag == "if":
            return self._if()
        if tag == "for":
            return self._for(line)
        raise TemplateError(f"there is no tag {tag}", line)

    def _to_the_end(self) -> Expression:
        expression = self._expressions.parse()
        self._stream.expect("%}")
        return expression

    def _if(self) -> If:
        branches = []
        ending = "if"
        while ending in ("if", "elif"):
            condition = self._to_the_end()
            block, ending = self.block("elif", "else", "endif")
            branches.append((condition, block))
        if ending == "else":
            self._stream.expect("%}")
            block, _ = self.block("endif")
            branches.append((Literal(True), block))
        self._stream.expect("%}")
        return If(tuple(branches))

    def _for(self, line: int) -> For:
        name = self._stream.expect("name").text
        self._stream.expect("in")
        items = self._to_the_end()
        block, ending = self.block("else", "endfor")
        otherwise = Block(())
        if ending == "else":
            self._stream.expect("%}")
            otherwise, _ = self.block("endfor")
        self._stream.expect("%}")
        return For(name, items, block, otherwise, line)
