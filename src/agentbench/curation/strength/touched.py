"""The lines of a file that a fix touches, and the functions around them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Lines of a fixed file, counted from 1."""

    changed: frozenset[int]
    """Those that the fix added, or that stand in the place of others."""
    beside: frozenset[int] = frozenset()
    """Those next to where it took lines away."""


def touched_lines(before: str, after: str) -> Touched:
    """What turns one text into another."""
    old, new = before.splitlines(), after.splitlines()
    changed: set[int] = set()
    beside: set[int] = set()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag == "delete":
            beside |= {start, start + 1} & set(range(1, len(new) + 1))
        elif tag != "equal":
            changed.update(range(start + 1, end + 1))
    return Touched(changed=frozenset(changed), beside=frozenset(beside))


def lines_of_functions(tree: ast.Module, touched: Touched) -> frozenset[int]:
    """All lines of the innermost functions that a fix touches."""
    spans = [_span(node) for node in ast.walk(tree) if isinstance(node, Function)]
    inner = (_innermost(spans, line) for line in sorted(touched.changed | touched.beside))
    return frozenset(_lines(span for span in inner if span is not None))


def _span(node: Function) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _innermost(spans: Iterable[range], line: int) -> range | None:
    return min((span for span in spans if line in span), key=len, default=None)


def _lines(spans: Iterable[range]) -> Iterator[int]:
    for span in spans:
        yield from span
