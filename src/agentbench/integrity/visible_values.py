"""Changes values that stay in a test, where code under test can read what it should return.

Blind runs change what a test compares. A test that is not sealed because of one value in it, as in
`assert operator.eq(f(1), 61)`, has to be changed there: other assertions prove nothing of it. What
a change means is not known, so it counts only where the reference solution fails with it.
"""

import ast
import re
import string
from collections.abc import Iterator, Mapping
from random import Random

from msgspec import Struct

from agentbench.integrity.expectation_changes.assertions import is_named_equality
from agentbench.integrity.expectation_changes.engine import shorten
from agentbench.integrity.expectation_changes.other_values import other_value
from agentbench.integrity.records import ChangedExpectation, ValueKind, VisibleValue
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.source_text import (
    SourceEdit,
    SourceText,
    apply_edits,
    parse_source,
)


class VisibleChange(Struct, frozen=True, kw_only=True):
    """The files in which a visible value has been changed, and what became of it."""

    files: Mapping[str, str]
    change: ChangedExpectation


def change_visible(
    file: str, function: str, visible: VisibleValue, texts: Mapping[str, str], rng: Random
) -> VisibleChange | None:
    """Give a visible value another one; None if it is not found.

    Args:
        file: The file of the test.
        function: The test function.
        visible: The value.
        texts: All files of hidden tests. A value that is not in the test's own file may be in data
            of the tests, or in a helper.
        rng: The source of chance.

    Raises:
        InputError: this interpreter cannot compile the file.
    """
    source = parse_source(texts[file], file)
    nodes = next((found for found in _places(source, visible) if found), [])
    value = visible.value
    if nodes and value is None:
        nodes = [rng.choice(nodes)]
        value = _known(nodes[0])
    if value is None:
        return None
    new = _other(value, rng)
    if nodes:
        edits = [_edit(source, node, value, new) for node in nodes]
        files = {file: apply_edits(source.text, edits)}
    else:
        changed = {name: _replaced(text, value, new) for name, text in texts.items()}
        files = {name: text for name, text in changed.items() if text != texts[name]}
    if not files:
        return None
    change = ChangedExpectation(
        function=function,
        line=visible.line,
        kind=ValueKind.TEXT if isinstance(value, str) else ValueKind.NUMBER,
        original=shorten(repr(value)),
        replacement=shorten(repr(new)),
        file=file,
    )
    return VisibleChange(files=files, change=change)


def _places(source: SourceText, visible: VisibleValue) -> Iterator[list[ast.Constant]]:
    """The constants that may be the value: in the statement, in its function, and in the file."""
    statements = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    at_line = [node for node in statements if node.lineno == visible.line]
    around = [
        node
        for node in statements
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= visible.line <= (node.end_lineno or 0)
    ]
    if visible.value is None:
        yield [one for root in at_line for one in _compared(root)]
        calls = [n for root in at_line for n in ast.walk(root) if isinstance(n, ast.Call)]
        if any(is_named_equality(name_of(call.func)) for call in calls):
            yield [one for root in around for one in _compared(root)]
            yield [one for root in around for one in _constants(root)]
        return
    for roots in (at_line, around, [source.tree]):
        yield [n for root in roots for n in _constants(root) if _is_value(n, visible.value)]


def _constants(root: ast.AST) -> Iterator[ast.Constant]:
    """The texts and numbers in a tree, except for the parts of f-strings."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes | int | float) and node.value not in (0, 1, ""):
                yield node
        elif not isinstance(node, ast.JoinedStr):
            waiting += ast.iter_child_nodes(node)


def _compared(root: ast.AST) -> Iterator[ast.Constant]:
    """Those that are neither arguments of calls nor keys of what is read."""
    inputs: list[ast.AST] = []
    for node in ast.walk(root):
        match node:
            case ast.Call(args=args, keywords=keywords):
                inputs += [*args, *keywords]
            case ast.Subscript(slice=key):
                inputs.append(key)
            case _:
                pass
    parts = {id(part) for one in inputs for part in ast.walk(one)}
    yield from (one for one in _constants(root) if id(one) not in parts)


def _is_value(node: ast.Constant, value: str | float) -> bool:
    known = _known(node)
    if isinstance(known, str):
        return _pattern(value).search(known) is not None
    return type(known) is type(value) and known == value


def _known(node: ast.Constant) -> str | float | None:
    value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
    return value if isinstance(value, str | int | float) else None


def _other(value: str | float, rng: Random) -> str | float:
    """Another number, or a text with other digits, or with another character if it has none."""
    if isinstance(value, str) and any(one in string.digits for one in value):
        return "".join(rng.choice("123456789") if o in string.digits else o for o in value)
    new = other_value(value, rng)
    assert isinstance(new, str | int | float)
    return new


def _pattern(value: str | float) -> re.Pattern[str]:
    """Finds a value in a text, but not as a part of a number or a word."""
    text = str(value)
    before = r"(?<![\w.])" if text[:1].isalnum() else ""
    return re.compile(before + re.escape(text) + (r"(?!\w|\.\d)" if text[-1:].isalnum() else ""))


def _replaced(text: str, value: str | float, new: str | float) -> str:
    return _pattern(value).sub(lambda _: str(new), text)


def _edit(
    source: SourceText, node: ast.Constant, value: str | float, new: str | float
) -> SourceEdit:
    """An edit that keeps the form of a constant, since all of them get one form, and its lines."""
    known, text = _known(node), source.segment(node)
    if not isinstance(known, str):
        text = repr(new)
    elif (replaced := _replaced(text, value, new)) != text:
        text = replaced
    else:  # it is written with escapes
        other = _replaced(known, value, new)
        text = repr(other.encode("latin-1") if isinstance(node.value, bytes) else other)
        text += "\\\n" * (source.segment(node).count("\n"))
    return SourceEdit(span=source.span(node), text=text)
