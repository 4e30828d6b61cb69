"""Small changes to a test: another value, a step left out or done twice."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.symbolic.amplification.cases import Function, cases_of

_FEW = 4  # other texts that a text is exchanged for
_LONGEST = 120  # characters of a text that is changed
_HUGE = 10**12
_TIMES = 12  # changed texts that are made of one
_WORDS = 0.6  # of them by its words, the others by its letters
_PART = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a function, by the place of a node in it."""

    node: int  # as ast.walk counts
    value: object = None  # of a constant
    step: str = ""  # "out" or "twice", of a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A function after a change, and what a reader is told of it."""

    function: Function
    line: int
    before: str
    after: str


def changes_of(function: Function, texts: Sequence[str], random: Random) -> list[Change]:
    """All changes that are made to a function: of each node one, then of each another."""
    nodes = list(ast.walk(function))
    own = _texts(nodes)
    alone = _left_alone(function)
    others = list(dict.fromkeys((*own, *texts)))
    found = [
        Change(node=at, value=value)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Constant) and id(node) not in alone
        for value in _other_values(node.value, others, random)
    ]
    found += [
        Change(node=at, step=step)
        for at, node in enumerate(nodes)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        for step in ("out", "twice")
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


def changed(function: Function, change: Change) -> Changed:
    """Make a change in a copy."""
    made = copy.deepcopy(function)
    node = list(ast.walk(made))[change.node]
    if change.step:
        assert isinstance(node, ast.stmt)
        return _stepped(made, node, change.step)
    assert isinstance(node, ast.Constant)
    around = _around(made, node)
    before = ast.unparse(around)
    node.value = change.value  # type: ignore[assignment] # a value of a kind that it may have
    line = getattr(node, "lineno", 0)
    return Changed(function=made, line=line, before=before, after=ast.unparse(around))


def _stepped(function: Function, node: ast.stmt, step: str) -> Changed:
    text = ast.unparse(node)
    for parent in ast.walk(function):
        for _field, body in ast.iter_fields(parent):
            if isinstance(body, list) and node in body:
                at = body.index(node)
                body[at : at + 1] = [copy.deepcopy(node), node] if step == "twice" else [ast.Pass()]
    after = f"{text} twice" if step == "twice" else "nothing"
    ast.fix_missing_locations(function)
    return Changed(function=function, line=node.lineno, before=text, after=after)


def _around(function: Function, node: ast.Constant) -> ast.expr | ast.stmt:
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
    found += [part for one in function.decorator_list for part in _names(one)]
    docstring = _docstring(function)
    return {id(inner) for one in found for inner in ast.walk(one)} | {id(docstring)}


def _expected(node: ast.AST) -> list[ast.expr]:
    """The sides of an assertion that call nothing, where another does; else all but the first."""
    if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare):
        return []
    sides = [node.test.left, *node.test.comparators]
    quiet = [side for side in sides if not _calls(side)]
    return quiet if len(quiet) < len(sides) else sides[1:]


def _calls(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _names(decorator: ast.expr) -> list[ast.expr]:
    """A decorator, but for the cases of a parametrised test."""
    cases = cases_of(decorator)
    if cases is None or not isinstance(decorator, ast.Call):
        return [decorator]
    return [decorator.args[0], *(keyword.value for keyword in decorator.keywords)]


def _docstring(function: Function) -> ast.Constant | None:
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value
    return None


def _texts(nodes: Sequence[ast.AST]) -> list[str]:
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str) and len(value) <= _LONGEST]


def _other_values(value: object, texts: Sequence[str], random: Random) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        if abs(value) < _HUGE:
            kind = type(value)
            near = (value + 1, value - 1, value * 2, value // 2, 0)
            # What is below nothing is often outside of what code is for.
            yield from (
                kind(one) for one in dict.fromkeys(near) if one != value and one >= min(value, 0)
            )
        yield None
    elif isinstance(value, str) and len(value) <= _LONGEST:
        yield from _other_texts(value, texts, random)
        yield None


def _other_texts(value: str, texts: Sequence[str], random: Random) -> Iterator[str]:
    pool = [part for text in (value, *texts) for part in _PART.findall(text)]
    found = random.sample(list(texts), min(_FEW, len(texts)))
    for _ in range(_TIMES if pool else 0):
        parts = _PART.findall(value) if random.random() < _WORDS else list(value)
        other = random.choice(pool)
        at = random.randrange(len(parts) + 1)
        length = random.choice((0, 1, 1))
        put_in = random.choice(([], [other], [other[:1]], parts[at : at + 1] * 2))
        found.append("".join([*parts[:at], *put_in, *parts[at + length :]]))
    yield from (other for other in dict.fromkeys(found) if other != value)
