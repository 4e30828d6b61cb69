"""Cuts a template into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from inkwell.errors import TemplateError

_OPENING = re.compile(r"\{\{|\{%|\{#")
_CLOSING = {"{{": "}}", "{%": "%}"}
_CODE = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<close>\}\}|%\})
    | (?P<number>\d+(?:\.\d+)?)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<name>[^\W\d]\w*)
    | (?P<op>==|!=|<=|>=|[-+*/%~<>=|.,()\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of a template: `text`, a bracket, or a word of an expression."""

    kind: str
    text: str
    line: int


def tokenize(source: str) -> Iterator[Token]:
    """The tokens of a template, with an `end` token at the end.

    Raises:
        TemplateError: a bracket is not closed, or a character has no meaning.
    """
    position, line = 0, 1
    while opening := _OPENING.search(source, position):
        if text := source[position : opening.start()]:
            yield Token("text", text, line)
        line += text.count("\n")
        start = opening.end()
        if opening[0] == "{#":
            position = source.find("#}", start) + 2
            if position < start:
                raise TemplateError("the comment is not closed", line)
        else:
            yield Token(opening[0], opening[0], line)
            position = yield from _code(source, start, line, _CLOSING[opening[0]])
        line += source.count("\n", start, position)
    if position < len(source):
        yield Token("text", source[position:], line)
    yield Token("end", "", line)


def _code(source: str, position: int, line: int, closing: str) -> Iterator[Token]:
    """The tokens up to the closing bracket; returns where it ends."""
    opened = line
    while position < len(source):
        found = _CODE.match(source, position)
        if found is None:
            raise TemplateError(f"unexpected character {source[position]!r}", line)
        position = found.end()
        kind, text = found.lastgroup, found[0]
        if kind == "close":
            if text != closing:
                raise TemplateError(f"expected {closing}, found {text}", line)
            yield Token(text, text, line)
            return position
        if kind != "space":
            yield Token(kind, text, line)
        line += text.count("\n")
    raise TemplateError(f"expected {closing}, found the end of the template", opened)
