"""Elements that a container gets or loses, where that is easily written."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentbench.stages.verification.mutation.expected import (
    Added,
    ExpectedValue,
    Removed,
)
from agentbench.stages.verification.mutation.source_text import SourceText, Span
from agentbench.stages.verification.mutation.value_kind import ValueKind
from agentbench.stages.verification.mutation.values import Scalar

EMPTY_CALLS = {"set": "{", "frozenset": "{", "list": "[", "tuple": "(", "dict": "{0: "}
"""What an empty container that is made by a call begins with once it is not empty."""
EMPTY_DICT = EMPTY_CALLS["dict"]

_CLOSING = {"{": "}", "[": "]", "(": ", )"}
_GAP = re.compile(r"\s*")
_COMMA = re.compile(r"\s*,\s*")  # no comment and no bracket


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """An element, or a pair of a dict from its key to its value."""

    first: ast.expr
    last: ast.expr


def filled(source: SourceText, node: ast.expr, opening: str, doubt: int) -> ExpectedValue:
    """An empty container that gets an element."""
    like: Scalar = 1 if opening == EMPTY_DICT else "a"
    way = Added(like=like, avoid=(), before=opening, after=_CLOSING[opening[0]])
    return _container(source, node, source.span(node), doubt, way)


def added(
    source: SourceText, node: ast.expr, first: ast.expr, neighbours: Sequence[Scalar], doubt: int
) -> Iterator[ExpectedValue]:
    """A container with one element more, which is like one that it has."""
    at = source.span(first).start
    opening = source.text[source.span(node).start : at]
    if neighbours and opening and _GAP.fullmatch(opening[1:]):
        way = Added(like=neighbours[0], avoid=neighbours)
        yield _container(source, node, Span(at, at), doubt, way)


def removed(source: SourceText, elements: Sequence[Element], doubt: int) -> Iterator[ExpectedValue]:
    """A container without one of its inner elements, if it has that one only once."""
    shapes = [ast.dump(element.first) for element in elements]
    for at in range(1, len(elements) - 1):
        last, this, following = elements[at - 1 : at + 2]
        span = Span(source.span(this.first).start, source.span(following.first).start)
        gaps = (
            source.text[source.span(last.last).end : span.start],
            source.text[source.span(this.last).end : span.end],
        )
        if shapes.count(shapes[at]) == 1 and all(_COMMA.fullmatch(gap) for gap in gaps):
            way = Removed(lines=source.text.count("\n", span.start, span.end))
            yield _container(source, this.first, span, doubt, way)


def _container(
    source: SourceText, node: ast.expr, span: Span, doubt: int, way: Added | Removed
) -> ExpectedValue:
    return ExpectedValue(
        span=span,
        line=source.line_of(span.start),
        kind=ValueKind.CONTAINER,
        original=source.segment(node),
        doubt=doubt,
        way=way,
    )
