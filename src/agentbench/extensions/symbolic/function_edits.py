"""Small edits of a test: another value, text or method, a step omitted or repeated, one case."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
_NAMES_AND_CASES = 2  # arguments
_MOST_EDITS = 40  # drawn from all
_SIGNS = 4  # from other texts, in addition to its own
_WORDS = 3  # from other texts, inserted at one position
_LONGEST_NAME = 3  # characters; a longer text may be in a language of its own
_PART = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_TEXT = 120  # characters; longer texts are not changed
_NOT_IN_QUESTION = ("self", "cls", "pytest", "unittest")  # used for judging only
_HUGE = 10**12
Value = str | int | float | None  # the value that replaces a constant


def with_one_case(function: Function, random: Random) -> None:
    """Keep one random case of a decorator that lists its cases."""
    for decorator in function.decorator_list:
        cases = cases_of(decorator)
        if cases is not None and len(cases.elts) > 1:
            cases.elts[:] = [random.choice(cases.elts)]
        if cases is not None and isinstance(decorator, ast.Call):
            decorator.keywords[:] = [one for one in decorator.keywords if one.arg != "ids"]


def cases_of(decorator: ast.expr) -> ast.List | ast.Tuple | None:
    """The cases that a decorator lists; `None` for another decorator."""
    if not isinstance(decorator, ast.Call) or len(decorator.args) < _NAMES_AND_CASES:
        return None
    name = getattr(decorator.func, "attr", "")
    cases = decorator.args[1]
    return cases if name == "parametrize" and isinstance(cases, ast.List | ast.Tuple) else None


def names_of(decorator: ast.Call) -> tuple[str, ...]:
    """The names of the parameters, as far as the decorator lists them."""
    names = decorator.args[0]
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        return tuple(name.strip() for name in names.value.split(","))
    if isinstance(names, ast.Tuple | ast.List):
        return tuple(str(one.value) for one in names.elts if isinstance(one, ast.Constant))
    return ()


def other_texts(value: str, texts: Sequence[str], random: Random) -> list[str]:
    """Replacements for a text; each sign of the other texts is inserted at every position."""
    others = random.sample(list(texts), min(2, len(texts)))
    if len(value) <= _LONGEST_NAME and value.isalnum():
        return [other for other in others if other != value]
    parts = _PART.findall(value)
    known = dict.fromkeys(part for text in (value, *texts) for part in _PART.findall(text))
    signs = [part for part in known if not part.isalnum() and not part.isspace()]
    own = [part for part in signs if part in parts]
    foreign = [part for part in signs if part not in parts]
    words = [part for part in known if part.isalnum()]
    drawn = [*own, *_some(foreign, _SIGNS, random), *_some(words, _WORDS, random)]
    edits = list(dict.fromkeys("".join(edit) for edit in _part_edits(parts, drawn)))
    found = random.sample(edits, min(_MOST_EDITS, len(edits))) + others[:1]
    return [other for other in dict.fromkeys(found) if other != value]


def _some(parts: Sequence[str], most: int, random: Random) -> list[str]:
    return random.sample(parts, min(most, len(parts)))


def _part_edits(parts: Sequence[str], drawn: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(len(parts) + 1):
        for other in drawn:
            yield (*parts[:at], other, *parts[at:])
            if at < len(parts) and parts[at].isalnum() == other.isalnum():
                yield (*parts[:at], other, *parts[at + 1 :])
        if at < len(parts):
            yield (*parts[:at], *parts[at + 1 :])
            yield (*parts[:at], parts[at], *parts[at:])


class MethodCall(NamedTuple):
    """The name of a method, and the name that it is called on."""

    on: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVocabulary:
    """The values, texts and methods in a file of tests."""

    texts: tuple[str, ...]
    methods: Mapping[str, frozenset[str]]  # the methods that the file calls on a name


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """One change of a function, by the index of a node in it."""

    node: int  # its index in ast.walk
    value: Value = None  # of a constant
    step: str = ""  # "out" or "twice", of a statement
    called: str = ""  # the name of the method to call instead


class EditDescription(NamedTuple):
    """The description of a change for a reader."""

    line: int
    before: str
    after: str


def changes_of(function: Function, spoken: FileVocabulary, random: Random) -> list[NodeChange]:
    """All edits of a function: one edit for each node first, then a second one for each."""
    nodes = list(ast.walk(function))
    alone = _is_excluded(function)
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    own = [one for one in values if isinstance(one, str) and len(one) <= _LONGEST_TEXT]
    others = list(dict.fromkeys((*own, *spoken.texts)))
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    found = [
        NodeChange(node=at, value=value)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Constant) and id(node) not in alone
        for value in _other_values(node.value, others, numbers, random)
    ]
    found += [
        NodeChange(node=at, step=step)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        for step in ("out", "twice")
    ]
    found += [
        NodeChange(node=at, called=name)
        for at, node in enumerate(nodes)
        if id(node) not in alone and (called := called_of(node)) is not None
        for name in sorted(spoken.methods.get(called.on, ()))
        if name != called.method
    ]
    random.shuffle(found)
    # Take turns among the nodes: a text has many edits and a number few.
    of_node: Counter[int] = Counter()
    turns: list[tuple[int, NodeChange]] = []
    for change in found:
        turns.append((of_node[change.node], change))
        of_node[change.node] += 1
    return [change for _turn, change in sorted(turns, key=lambda one: one[0])]


def called_of(node: ast.AST) -> MethodCall | None:
    """The method of a call such as `Interval.open(1, 2)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    if not isinstance(owner, ast.Name) or owner.id in _NOT_IN_QUESTION:
        return None
    return MethodCall(owner.id, node.func.attr)


def apply_changes(
    function: Function, changes: Sequence[NodeChange]
) -> tuple[Function, tuple[EditDescription, ...]]:
    """A copy with some changes, and their descriptions."""
    changed = copy.deepcopy(function)
    nodes = list(ast.walk(changed))
    edits = tuple(_apply(changed, nodes[one.node], one) for one in changes)
    return ast.fix_missing_locations(changed), edits


def _apply(function: Function, node: ast.AST, change: NodeChange) -> EditDescription:
    if change.step:
        assert isinstance(node, ast.stmt)
        text = ast.unparse(node)
        for parent in ast.walk(function):
            for _field, body in ast.iter_fields(parent):
                if isinstance(body, list) and node in body:
                    at = body.index(node)
                    again = [copy.deepcopy(node), node] if change.step == "twice" else [ast.Pass()]
                    body[at : at + 1] = again
                    break
        return EditDescription(
            node.lineno, text, f"{text} twice" if change.step == "twice" else "nothing"
        )
    assert isinstance(node, ast.Constant | ast.Call)
    # The call that contains a constant, or else its statement.
    around: ast.expr | ast.stmt = node
    for candidate in ast.walk(function):  # from the outermost inwards
        if isinstance(candidate, ast.Call | ast.Assign | ast.Compare | ast.Tuple) and any(
            inner is node for inner in ast.walk(candidate)
        ):
            around = candidate
    before = ast.unparse(around)
    if isinstance(node, ast.Constant):
        node.value = change.value
    elif isinstance(node.func, ast.Attribute):
        node.func.attr = change.called
    return EditDescription(node.lineno, before, ast.unparse(around))


# The ids of nodes that only judge or name things, and are no part of a test's actions.
def _is_excluded(function: Function) -> set[int]:
    found = [side for node in ast.walk(function) for side in _expected(node)]
    found += [part for one in function.decorator_list for part in _decorator_parts(one, function)]
    found += [part for node in ast.walk(function) for part in _written_parts(node)]
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        found.append(first.value)  # the docstring
    return {id(inner) for one in found for inner in ast.walk(one)}


# The texts in an f-string, which can only be texts, and the values of patterns.
def _written_parts(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.JoinedStr):
        return [part for part in node.values if isinstance(part, ast.Constant)]
    if isinstance(node, ast.FormattedValue):
        return [node.format_spec] if node.format_spec is not None else []
    return [node.value] if isinstance(node, ast.MatchValue) else []


# The sides of an assertion without a call if another side has one; else all but the first.
def _expected(node: ast.AST) -> list[ast.expr]:
    if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare):
        return []
    sides = [node.test.left, *node.test.comparators]
    quiet = [side for side in sides if ast.Call not in map(type, ast.walk(side))]
    return quiet if len(quiet) < len(sides) else sides[1:]


# A decorator, except for the cases of a parametrized test.
def _decorator_parts(decorator: ast.expr, function: Function) -> list[ast.expr]:
    cases = cases_of(decorator)
    if cases is None or not isinstance(decorator, ast.Call):
        return [decorator]
    # The values of cases for a parameter that the test uses for judging only.
    names = names_of(decorator)
    only = _judged_by(function)
    columns = [at for at, name in enumerate(names) if name in only]
    rows = [row for row in cases.elts if isinstance(row, ast.Tuple | ast.List)]
    judging = [row.elts[at] for row in rows for at in columns if len(row.elts) == len(names)]
    # A call in a case runs when the file is loaded, so an error there would end all tests.
    called = [node for node in ast.walk(cases) if isinstance(node, ast.Call)]
    named = [keyword.value for keyword in decorator.keywords]
    return [decorator.args[0], *called, *judging, *named]


# Names whose only uses are as a whole side of an assertion.
def _judged_by(function: Function) -> set[str]:
    sides = {
        id(side): side.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare)
        for side in (node.test.left, *node.test.comparators)
        if isinstance(side, ast.Name)
    }
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    return set(sides.values()) - {node.id for node in names if id(node) not in sides}


def _other_values(
    value: object, texts: Sequence[str], numbers: Sequence[float], random: Random
) -> Iterator[Value]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        if abs(value) < _HUGE:
            kind = type(value)
            near = (value + 1, value - 1, value * 2, value // 2, 0, *numbers)
            # Code is often not written for negative numbers.
            yield from (
                kind(one) for one in dict.fromkeys(near) if one != value and one >= min(value, 0)
            )
        yield None
    elif isinstance(value, str) and len(value) <= _LONGEST_TEXT:
        yield from other_texts(value, texts, random)
        yield None
