"""A cursor over tokens."""

from __future__ import annotations

from collections.abc import Iterable

from inkwell.errors import TemplateError
from inkwell.lexer import Token


class TokenStream:
    """Hands out tokens one by one, and lets the next one be looked at."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens = list(tokens)
        self._next = 0

    @property
    def next(self) -> Token:
        """The next token, which stays where it is."""
        return self._tokens[self._next]

    def take(self) -> Token:
        """The next token. The one at the end can be taken again and again."""
        token = self.next
        if token.kind != "end":
            self._next += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is that operator, bracket or word."""
        if self.next.text == text and self.next.kind not in ("text", "string"):
            self.take()
            return True
        return False

    def expect(self, wanted: str) -> Token:
        """Take the next token, which must be of that kind or be that operator or word."""
        token = self.take()
        if token.kind == wanted or (token.text == wanted and token.kind in ("op", "name")):
            return token
        found = token.text if token.kind != "end" else "the end of the template"
        raise TemplateError(f"expected {wanted}, found {found}", token.line)
