"""Small changes to a test: another value, a step left out or done twice."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from agentbench.symbolic.amplification.cases import Function, cases_of, names_of
from agentbench.symbolic.amplification.texts import other_texts

_LONGEST = 120  # characters of a text that is changed
_NOT_IN_QUESTION = ("self", "cls", "pytest", "unittest")  # they judge, and do nothing
_HUGE = 10**12


Value = str | int | float | None
"""What a constant may become."""


class Called(NamedTuple):
    """A method that is called on a name."""

    on: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a file of tests speaks of."""

    texts: tuple[str, ...]
    methods: Mapping[str, frozenset[str]]
    """The methods that are called on a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a function, by the place of a node in it."""

    node: int  # as ast.walk counts
    value: Value = None  # of a constant
    step: str = ""  # "out" or "twice", of a statement
    called: str = ""  # the name of another method


class Edit(NamedTuple):
    """What a reader is told of a change."""

    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A function after some changes."""

    function: Function
    edits: tuple[Edit, ...]


def changes_of(function: Function, spoken: Spoken, random: Random) -> list[Change]:
    """All changes that are made to a function: of each node one, then of each another."""
    nodes = list(ast.walk(function))
    own = _texts(nodes)
    alone = _left_alone(function)
    others = list(dict.fromkeys((*own, *spoken.texts)))
    methods = spoken.methods
    numbers = _numbers(nodes)
    found = [
        Change(node=at, value=value)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Constant) and id(node) not in alone
        for value in _other_values(node.value, others, numbers, random)
    ]
    found += [
        Change(node=at, step=step)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        for step in ("out", "twice")
    ]
    found += [
        Change(node=at, called=name)
        for at, node in enumerate(nodes)
        if id(node) not in alone and (called := called_of(node)) is not None
        for name in sorted(methods.get(called.on, ()))
        if name != called.method
    ]
    random.shuffle(found)
    return _in_turns(found)


def _in_turns(found: Sequence[Change]) -> list[Change]:
    """Texts can be changed in many ways, and numbers in few: neither comes first."""
    of_node: Counter[int] = Counter()
    turns: list[tuple[int, Change]] = []
    for change in found:
        turns.append((of_node[change.node], change))
        of_node[change.node] += 1
    return [change for _turn, change in sorted(turns, key=lambda one: one[0])]


def called_of(node: ast.AST) -> Called | None:
    """The method of a call such as `Interval.open(1, 2)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    if not isinstance(owner, ast.Name) or owner.id in _NOT_IN_QUESTION:
        return None
    return Called(owner.id, node.func.attr)


def changed(function: Function, changes: Sequence[Change]) -> Changed:
    """Make some changes in a copy."""
    made = copy.deepcopy(function)
    nodes = list(ast.walk(made))
    told = [_made(made, nodes[one.node], one) for one in changes]
    ast.fix_missing_locations(made)
    return Changed(function=made, edits=tuple(told))


def _made(function: Function, node: ast.AST, change: Change) -> Edit:
    if change.step:
        assert isinstance(node, ast.stmt)
        return _stepped(function, node, change.step)
    assert isinstance(node, ast.Constant | ast.Call)
    around = _around(function, node)
    before = ast.unparse(around)
    if isinstance(node, ast.Constant):
        node.value = change.value
    elif isinstance(node.func, ast.Attribute):
        node.func.attr = change.called
    return Edit(node.lineno, before, ast.unparse(around))


def _stepped(function: Function, node: ast.stmt, step: str) -> Edit:
    text = ast.unparse(node)
    for parent in ast.walk(function):
        for _field, body in ast.iter_fields(parent):
            if isinstance(body, list) and node in body:
                at = body.index(node)
                again = [copy.deepcopy(node), node] if step == "twice" else [ast.Pass()]
                body[at : at + 1] = again
                break
    return Edit(node.lineno, text, f"{text} twice" if step == "twice" else "nothing")


def _around(function: Function, node: ast.expr) -> ast.expr | ast.stmt:
    """The call, or else the statement, that a constant stands in."""
    best: ast.expr | ast.stmt = node
    for candidate in ast.walk(function):  # from the outermost inwards
        if isinstance(candidate, ast.Call | ast.Assign | ast.Compare | ast.Tuple) and any(
            inner is node for inner in ast.walk(candidate)
        ):
            best = candidate
    return best


def _left_alone(function: Function) -> set[int]:
    """What is judged by, or names things: it is none of what a test does."""
    found = [side for node in ast.walk(function) for side in _expected(node)]
    found += [part for one in function.decorator_list for part in _names(one, function)]
    found += [part for node in ast.walk(function) for part in _written_parts(node)]
    docstring = _docstring(function)
    return {id(inner) for one in found for inner in ast.walk(one)} | {id(docstring)}


def _written_parts(node: ast.AST) -> list[ast.expr]:
    """The texts in an f-string, which can be texts alone, and the values of patterns."""
    if isinstance(node, ast.JoinedStr):
        return [part for part in node.values if isinstance(part, ast.Constant)]
    if isinstance(node, ast.FormattedValue):
        return [node.format_spec] if node.format_spec is not None else []
    return [node.value] if isinstance(node, ast.MatchValue) else []


def _expected(node: ast.AST) -> list[ast.expr]:
    """The sides of an assertion that call nothing, where another does; else all but the first."""
    if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare):
        return []
    sides = [node.test.left, *node.test.comparators]
    quiet = [side for side in sides if not _calls(side)]
    return quiet if len(quiet) < len(sides) else sides[1:]


def _calls(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _names(decorator: ast.expr, function: Function) -> list[ast.expr]:
    """A decorator, but for the cases of a parametrised test."""
    cases = cases_of(decorator)
    if cases is None or not isinstance(decorator, ast.Call):
        return [decorator]
    judging = _judging(decorator, function)
    # What is called in a case is called where the file is loaded: a fault there ends it all.
    called = [node for node in ast.walk(decorator.args[1]) if isinstance(node, ast.Call)]
    return [
        decorator.args[0],
        *called,
        *judging,
        *(keyword.value for keyword in decorator.keywords),
    ]


def _judging(decorator: ast.Call, function: Function) -> list[ast.expr]:
    """What cases hold for a parameter that the test judges by, and does nothing else with."""
    cases = cases_of(decorator)
    names = names_of(decorator)
    only = _judged_by(function)
    columns = [at for at, name in enumerate(names) if name in only]
    rows = [row for row in (cases.elts if cases else ()) if isinstance(row, ast.Tuple | ast.List)]
    return [row.elts[at] for row in rows for at in columns if len(row.elts) == len(names)]


def _judged_by(function: Function) -> set[str]:
    """Names that stand alone on a side of assertions, and nowhere else."""
    sides = {
        id(side): side.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare)
        for side in (node.test.left, *node.test.comparators)
        if isinstance(side, ast.Name)
    }
    used = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and id(node) not in sides
    }
    return set(sides.values()) - used


def _docstring(function: Function) -> ast.Constant | None:
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value
    return None


def _texts(nodes: Sequence[ast.AST]) -> list[str]:
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str) and len(value) <= _LONGEST]


def _numbers(nodes: Sequence[ast.AST]) -> list[float]:
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [one for one in found if isinstance(one, int | float) and not isinstance(one, bool)]


def _other_values(
    value: object, texts: Sequence[str], numbers: Sequence[float], random: Random
) -> Iterator[Value]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        if abs(value) < _HUGE:
            kind = type(value)
            near = (value + 1, value - 1, value * 2, value // 2, 0, *numbers)
            # What is below nothing is often outside of what code is for.
            yield from (
                kind(one) for one in dict.fromkeys(near) if one != value and one >= min(value, 0)
            )
        yield None
    elif isinstance(value, str) and len(value) <= _LONGEST:
        yield from other_texts(value, texts, random)
        yield None
