"""Compares recordings with a test's expectations: comparisons, truth, exceptions, warnings."""

import ast
import builtins
import operator
import re
from collections.abc import Callable, Mapping, Sequence

from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Digest,
    Group,
    Instance,
    Leaf,
    last_part,
)
from agentbench.integrity.sealing.equality import Agreement, equal_sides, every
from agentbench.integrity.sealing.expected_trees import Container, EnumMember, Known, Side
from agentbench.integrity.sealing.plain_values import (
    MAPPINGS,
    SEQUENCES,
    SETS,
    NotPlainError,
    like,
    to_python,
)

_ORDERINGS: Mapping[type[ast.cmpop], Callable[..., object]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda member, whole: member in whole,  # of texts and ranges
}
_CONTAINERS = (*SEQUENCES, *SETS, *MAPPINGS)
_ALIASES = {"IOError": "OSError", "EnvironmentError": "OSError", "WindowsError": "OSError"}
_AMBIGUOUS = ("error", "timeout", "herror", "gaierror")  # socket.error, struct.error, re.error
_BUILT_IN = "builtins."
_MOST_BASES = 2  # unrelated built-in exceptions that an honest exception inherits from


def compare(
    op: type[ast.cmpop],
    left: Side,
    right: Side,
) -> Agreement:
    """Whether a comparison of recorded and expected values holds."""
    left, right = (v.value if isinstance(v, Known) else v for v in (left, right))
    if op in (ast.NotEq, ast.NotIn, ast.IsNot):
        opposite = {ast.NotEq: ast.Eq, ast.NotIn: ast.In}.get(op, ast.Is)
        return compare(opposite, left, right).inverted()
    if op is ast.Eq:
        return equal_sides(left, right)
    if op is ast.Is:
        return _identical(left, right)
    if op is ast.In:
        return _contained(left, right)
    return _ordered(_ORDERINGS[op], left, right)


def truth(value: CanonicalValue) -> Agreement:
    """Whether a recorded value is true in an `if`."""
    match value:
        case Leaf(value=single):
            return Agreement.of(single)
        case Group(kind="token"):
            return Agreement.UNKNOWN
        case Group(kind=kind, items=items, rest=rest) if kind in _CONTAINERS:
            return Agreement.of(items or rest)
        case Group(kind="decimal" | "fraction" | "timedelta" | "range"):
            try:
                return Agreement.of(to_python(value))
            except NotPlainError:
                return Agreement.UNKNOWN
        case Instance(base=base):
            inner = value.disclosed("bool") or base
            if inner is not None:
                return truth(inner)
            return Agreement.UNKNOWN if value.kind == "array" else Agreement.YES
        case Digest() | Group():
            return Agreement.YES
        case _:
            return Agreement.UNKNOWN


def matches(pattern: str, text: str) -> Agreement:
    """Whether a test's pattern is found in a text; UNKNOWN if the pattern is invalid."""
    found = searched(pattern, [text])
    return Agreement.UNKNOWN if found is None else Agreement.of(found[0])


def searched(pattern: str, texts: Sequence[str]) -> list[bool] | None:
    """Whether a pattern is found in each text; None if it is invalid.

    A search may take forever; the caller is in a process that ends then.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    return [compiled.search(text) is not None for text in texts]


def raised_as_expected(
    raised: CanonicalValue | None, names: Sequence[str], pattern: str | None = None
) -> Agreement:
    """Whether a recorded exception has a class with one of these names, and its text matches.

    An exception does not agree if it inherits from many unrelated built-in ones, to match each.
    """
    if not isinstance(raised, Instance) or raised.kind != "exception" or _has_many_bases(raised):
        return Agreement.NO
    wanted = {_ALIASES.get(last_part(name), last_part(name)) for name in names}
    if all(name.startswith(_BUILT_IN) for name in names):  # own classes may have the same names
        fits = not {_BUILT_IN + name for name in wanted}.isdisjoint(raised.types)
    else:
        fits = not wanted.isdisjoint(map(last_part, raised.types))
    if not fits:
        return Agreement.NO if wanted.isdisjoint(_AMBIGUOUS) else Agreement.UNKNOWN
    if pattern is None:
        return Agreement.YES
    text = raised.disclosed("str")
    if not isinstance(text, Leaf) or not isinstance(text.value, str):
        return Agreement.UNKNOWN if isinstance(text, Digest) else Agreement.NO
    return matches(pattern, text.value)


def warned_as_expected(
    warned: Sequence[CanonicalValue] | None, names: Sequence[str], pattern: str | None = None
) -> Agreement:
    """Whether one of the recorded warnings has one of these classes, and its text matches."""
    return _any([raised_as_expected(warning, names, pattern) for warning in warned or ()])


def _has_many_bases(raised: Instance) -> bool:
    known = [
        found
        for name in raised.types
        if name.startswith(_BUILT_IN)
        and isinstance(found := getattr(builtins, last_part(name), None), type)
    ]
    lowest = [one for one in known if not any(o is not one and issubclass(o, one) for o in known)]
    return len(lowest) > _MOST_BASES


def _any(agreements: Sequence[Agreement]) -> Agreement:
    return every(agreement.inverted() for agreement in agreements).inverted()


def _identical(left: Side, right: Side) -> Agreement:
    for one, other in ((left, right), (right, left)):
        match one:
            case Leaf(kind="none" | "bool") | Group(kind="constant" | "class"):
                is_known = isinstance(other, CanonicalValue)
                return Agreement.of(one == other) if is_known else Agreement.UNKNOWN
            case Instance(kind="enum") | EnumMember():
                return equal_sides(left, right)
            case _:
                pass
    found = equal_sides(left, right)
    return Agreement.UNKNOWN if found is Agreement.YES else found


def _contained(member: Side, container: Side) -> Agreement:
    match container:
        case Instance(types=(name, *_), base=Group(items=calls, rest=None)) if (
            last_part(name) == "_CallList" and (part := _list_items(member)) is not None
        ):  # of a mock: the calls in a list follow each other
            windows = (calls[at : at + len(part)] for at in range(len(calls) - len(part) + 1))
            return _any([every(map(equal_sides, part, window)) for window in windows])
        case Instance():
            shapes = (Group("dict", ()), Group("list", ()), member)
            found = (like(container, s) for s in shapes if isinstance(s, CanonicalValue))
            inner = next((each for each in found if each is not None), None)
            return Agreement.UNKNOWN if inner is None else _contained(member, inner)
        case Leaf() | Group(kind="range"):
            return _ordered(_ORDERINGS[ast.In], member, container)
        case Group(kind=kind, items=items, rest=rest) if kind in _CONTAINERS:
            keys = [
                item.items[0] if isinstance(item, Group) and item.kind == "pair" else item
                for item in items
            ]
            found_ = _any([equal_sides(member, key) for key in keys])
            is_open = rest is not None and found_ is Agreement.NO
            return Agreement.UNKNOWN if is_open else found_
        case Container(items=trees):
            parts = [
                tree.items[0] if isinstance(tree, Container) and tree.kind == "pair" else tree
                for tree in trees
            ]
            return _any([equal_sides(member, part) for part in parts])
        case _:
            return Agreement.UNKNOWN


def _list_items(side: Side) -> Sequence[Side] | None:
    return side.items if isinstance(side, Group | Container) and side.kind == "list" else None


def _ordered(
    ordering: Callable[..., object],
    left: Side,
    right: Side,
) -> Agreement:
    values = []
    for one, other in ((left, right), (right, left)):
        same_type = one
        if isinstance(one, Instance) and isinstance(other, CanonicalValue):
            same_type = like(one, other) or one
        try:
            values.append(to_python(same_type))
        except NotPlainError:
            return Agreement.UNKNOWN
    try:
        return Agreement.of(ordering(*values))
    except (TypeError, ValueError, ArithmeticError):  # such as `300 in b"text"`
        return Agreement.NO
