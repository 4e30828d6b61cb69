"""Changes values that stay in a test, where code under test can read what it should return.

Blind runs change what a test compares. A test that is not sealed because of one value in it, as in
`assert operator.eq(f(1), 61)`, has to be changed there: other assertions prove nothing of it. What
a change means is not known, so it counts only where the reference solution fails with it.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.assertions import is_named_equality
from agentbench.integrity.expectation_changes.engine import shorten
from agentbench.integrity.expectation_changes.other_values import FAR, NEAR, other_value
from agentbench.integrity.records import ChangedExpectation, ValueKind, VisibleValue
from agentbench.python_source import python_syntax
from agentbench.python_source.constants import is_telling
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.source_text import (
    SourceEdit,
    SourceText,
    apply_edits,
    parse_source,
)

_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SEARCHES = frozenset(["assertIn", "assertRegex", "findall", "fullmatch", "match", "search"])


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleChange:
    """The files in which a visible value has been changed, and what became of it."""

    files: Mapping[str, str]
    change: ChangedExpectation


def change_visible(
    file: str, function: str, visible: VisibleValue, texts: Mapping[str, str], rng: Random
) -> VisibleChange | None:
    """Give a visible value another one; None if it is not found, or others would be right, too.

    Args:
        file: The file of the test.
        function: The test function.
        visible: The value.
        texts: All files of hidden tests. The value may also be in data of the tests, or in a
            helper.
        rng: The source of chance.
    """
    if visible.is_unknown:
        return None
    source = parse_source(texts[file], file)
    nodes, value = _constants_to_change(source, visible), visible.value
    if nodes and value is None:
        nodes = [rng.choice(nodes)]
        value = _known(nodes[0])
    if value is None or not any(map(str.isalnum, str(value))):
        return None  # `""` and `","` are in everything
    # An honest fix may give another accepted value, and would pass where it has to fail.
    if _has_alternatives(source, visible, nodes):
        return None
    new = _other(value, rng, is_searched=_is_searched(source, nodes))
    changed = dict(texts)
    if is_telling(value) or not nodes:
        rest = [name for name in texts if name != file or not nodes]
        changed |= {name: _replaced_in(name, texts[name], value, new) for name in rest}
    changed |= {file: apply_edits(changed[file], [_edit(source, n, value, new) for n in nodes])}
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


# The constants that may be the value: in the function, or else in the file. If only the line is
# known, those that are compared there.
def _constants_to_change(source: SourceText, visible: VisibleValue) -> list[ast.Constant]:
    value, statements = visible.value, [n for n in ast.walk(source.tree) if isinstance(n, ast.stmt)]
    at_line = [node for node in statements if node.lineno == visible.line]
    around = [
        node
        for node in statements
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= visible.line <= (node.end_lineno or 0)
    ]
    if value is None:
        choices = [[one for root in at_line for one in _compared(root)]]
        calls = [n for root in at_line for n in ast.walk(root) if isinstance(n, ast.Call)]
        if any(is_named_equality(name_of(call.func)) for call in calls):
            choices.append([one for root in around for one in _compared(root)])
            choices.append([one for root in around for one in _constants(root)])
        return next((nodes for nodes in choices if nodes), [])
    for roots in (around or at_line, [source.tree]):
        nodes = [one for root in roots for one in _constants(root)]
        exact = [one for one in nodes if _known(one) == value]
        if found := exact or [one for one in nodes if _is_in(value, one)]:
            return found
    return []


# Whether a statement accepts several values, as in `f() in ("no", "none")`. Right code may give
# another one of them than the reference solution.
def _has_alternatives(
    source: SourceText, visible: VisibleValue, nodes: Sequence[ast.Constant]
) -> bool:
    changed = set(map(id, nodes))
    for statement in (node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)):
        children = ast.iter_child_nodes(statement)
        parts = [p for one in children if not isinstance(one, ast.stmt) for p in ast.walk(one)]
        if statement.lineno != visible.line and changed.isdisjoint(map(id, parts)):
            continue
        for part in parts:
            match part:
                case ast.BoolOp(op=ast.Or()) | ast.Call(func=ast.Name(id="any")):
                    return True
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[whole]):
                    if not isinstance(whole, ast.Call | ast.Attribute | ast.Subscript):
                        return True
                case _:
                    pass
    return False


# The texts and numbers in a tree, except for the parts of f-strings.
def _constants(root: ast.AST) -> Iterator[ast.Constant]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes | int | float) and node.value not in (0, 1, ""):
                yield node
        elif not isinstance(node, ast.JoinedStr):
            waiting += ast.iter_child_nodes(node)


# Those that are neither arguments of calls, nor bounds, nor keys of what is read.
def _compared(root: ast.AST) -> Iterator[ast.Constant]:
    inputs: list[ast.AST] = []
    for node in ast.walk(root):
        match node:
            case ast.Call(args=args, keywords=keywords):
                inputs += [*args, *keywords]
            case ast.Subscript(slice=key):
                inputs.append(key)
            case ast.Compare(ops=ops) if any(isinstance(op, _BOUNDS) for op in ops):
                inputs.append(node)
            case _:
                pass
    parts = {id(part) for one in inputs for part in ast.walk(one)}
    yield from (one for one in _constants(root) if id(one) not in parts)


def _is_in(value: str | float, node: ast.Constant) -> bool:
    known = _known(node)
    return isinstance(known, str) and _pattern(value).search(known) is not None


def _known(node: ast.Constant) -> str | float | None:
    value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
    return value if isinstance(value, str | int | float) else None


# Whether one of them is searched in a larger value, as in `"61" in f()`.
def _is_searched(source: SourceText, nodes: Sequence[ast.Constant]) -> bool:
    for node in ast.walk(source.tree):
        match node:
            case ast.Compare(left=part, ops=[ast.In()]):
                pass
            case ast.Call(func=func, args=[part, *_]) if name_of(func) in _SEARCHES:
                pass
            case _:
                continue
        if any(part is one for one in nodes):
            return True
    return False


# A number far away, or a text with another last digit, or another character if it has none. A date
# stays a date, so that right code does not refuse it. What is searched becomes what is in no likely
# text: right code may give more than the reference solution.
def _other(value: str | float, rng: Random, *, is_searched: bool) -> str | float:
    if not is_searched and isinstance(value, str) and (digits := [*re.finditer(r"\d", value)]):
        at = digits[-1].start()
        return value[:at] + rng.choice("123456789".replace(value[at], "")) + value[at + 1 :]
    is_near = isinstance(value, str) and not is_searched
    new = other_value(value, rng, NEAR if is_near else FAR)
    assert isinstance(new, str | int | float)
    return new


# Finds a value in a text, but not as a part of a number or a word.
def _pattern(value: str | float) -> re.Pattern[str]:
    text = str(value)
    before = r"(?<![\w.])" if text[:1].isalnum() else ""
    return re.compile(before + re.escape(text) + (r"(?!\w|\.\d)" if text[-1:].isalnum() else ""))


def _replaced(text: str, value: str | float, new: str | float) -> str:
    return _pattern(value).sub(lambda _: str(new), text)


# A file of tests with another value; a Python file only if it stays one.
def _replaced_in(file: str, text: str, value: str | float, new: str | float) -> str:
    replaced = _replaced(text, value, new)
    if file.endswith(".py"):
        try:
            parse_source(replaced, file)
        except InputError:
            return text
    return replaced


# An edit that keeps the form of a constant, since all of them get one form, and its lines.
def _edit(
    source: SourceText, node: ast.Constant, value: str | float, new: str | float
) -> SourceEdit:
    known, text = _known(node), source.segment(node)
    if not isinstance(known, str):
        return SourceEdit(span=source.span(node), text=repr(new))
    replaced, other = _replaced(text, value, new), _replaced(known, value, new)
    right = other.encode("latin-1", "replace") if isinstance(node.value, bytes) else other
    if _value_of(replaced) != right:  # it is written with escapes, or is a part of `b""`
        replaced = repr(right) + "\\\n" * text.count("\n")
    return SourceEdit(span=source.span(node), text=replaced)


def _value_of(text: str) -> object:
    try:
        return python_syntax.literal(text)
    except (SyntaxError, ValueError):
        return None
