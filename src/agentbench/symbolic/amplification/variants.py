"""A file of tests, with many changed ones in the place of each."""

import ast
import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import NamedTuple

from agentbench import syntax
from agentbench.symbolic.amplification.cases import Function, cases_of, with_one_case
from agentbench.symbolic.amplification.changes import (
    Change,
    Edit,
    Spoken,
    called_of,
    changed,
    changes_of,
)
from agentbench.symbolic.amplification.observing import Observing

_MARK = "__as_"
_LONGEST = 80  # characters of a text that others are made with; a docstring is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A changed test: which it was, what was changed, and how it is told to a reader."""

    test: str
    edits: tuple[Edit, ...]
    origin: Function = field(compare=False, repr=False)
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplified:
    """A file of changed tests."""

    source: str
    variants: dict[str, Variant]
    """By the name of the changed function."""
    places: tuple[str, ...]
    """What is observed, as source, by its number."""


def amplify(source: str, *, seed: int, most: Callable[[str], int]) -> Amplified | None:
    """Make changed tests of a file; None where it has none that can be changed.

    Args:
        source: The file.
        seed: Of the choice among changes.
        most: Changed tests for a test, by its name.
    """
    tree = syntax.parse(source)
    random = Random(seed)
    spoken = _spoken(tree)

    def made(node: Function) -> Iterator[Made]:
        return _chosen(node, spoken, random, most(node.name))

    return _assembled(tree, made)


def reduced(source: str, amplified: Amplified, names: Collection[str]) -> Amplified | None:
    """Of some changed tests those with a part of their changes; None where all have one alone.

    Args:
        source: The file as it was before anything was changed.
        amplified: What was made of it.
        names: Of the changed functions.
    """
    wanted = [amplified.variants[name] for name in names]

    def made(node: Function) -> Iterator[Made]:
        for one in wanted:
            if one.test == node.name and one.origin.lineno == node.lineno:
                yield from (Made(one.origin, changes) for changes in _parts(one.changes))

    return _assembled(syntax.parse(source), made)


class Made(NamedTuple):
    """A test to change, and how."""

    origin: Function
    changes: tuple[Change, ...]


def _assembled(tree: ast.Module, made: Callable[[Function], Iterable[Made]]) -> Amplified | None:
    variants: dict[str, Variant] = {}
    for body in _bodies(tree):
        body[:] = [one for node in body for one in _in_place_of(node, made, variants)] or [
            ast.Pass()
        ]
    if not variants:
        return None
    observing = Observing()
    observed = ast.fix_missing_locations(observing.visit(tree))
    return Amplified(
        source=ast.unparse(observed), variants=variants, places=tuple(observing.places)
    )


def _parts(changes: tuple[Change, ...]) -> Iterator[tuple[Change, ...]]:
    for size in range(1, len(changes)):
        yield from combinations(changes, size)


def changed_name(node_id: str) -> str:
    """The name of the changed function that a node id of pytest is about."""
    return node_id.rpartition("::")[2].partition("[")[0]


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    yield tree.body
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.body


def _in_place_of(
    node: ast.stmt, made: Callable[[Function], Iterable[Made]], variants: dict[str, Variant]
) -> list[ast.stmt]:
    """The changed tests in the place of a test; what is none stays."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not _is_test(node):
        return [node]
    found: list[ast.stmt] = []
    for origin, changes in made(node):
        one = changed(origin, changes)
        # Two classes may have tests of the same name.
        one.function.name = f"{node.name}{_MARK}{len(variants)}"
        variants[one.function.name] = Variant(
            test=node.name, edits=one.edits, origin=origin, changes=tuple(changes)
        )
        found.append(one.function)
    return found


def _is_test(node: Function) -> bool:
    return node.name.startswith("test")


def _chosen(node: Function, spoken: Spoken, random: Random, most: int) -> Iterator[Made]:
    seen: set[tuple[object, ...]] = set()
    has_cases = any(cases_of(one) is not None for one in node.decorator_list)
    waiting = [] if has_cases else changes_of(node, spoken, random)
    for turn in range(2 * most):
        one = node
        if has_cases:
            with_one_case(one := copy.deepcopy(node), random)
            waiting = changes_of(one, spoken, random)
        if not waiting or len(seen) >= most:
            return
        drawn = _drawn(waiting, turn, random)
        key = (*drawn, *(ast.dump(decorator) for decorator in one.decorator_list))
        if key not in seen:
            seen.add(key)
            yield Made(one, drawn)


def _drawn(waiting: Sequence[Change], turn: int, random: Random) -> tuple[Change, ...]:
    """One change at first, each in its turn; later several, of different nodes."""
    many = 1 if turn < len(waiting) and turn % 2 == 0 else random.choice((2, 2, 3))
    first = waiting[turn // 2 % len(waiting)]
    others = random.sample(waiting, min(many - 1, len(waiting)))
    return tuple({one.node: one for one in (*others, first)}.values())


def _spoken(tree: ast.Module) -> Spoken:
    texts: dict[str, None] = {}
    methods: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if 0 < len(node.value) <= _LONGEST:
                texts[node.value] = None
        elif (called := called_of(node)) is not None:
            methods.setdefault(called.on, set()).add(called.method)
    return Spoken(
        texts=tuple(texts), methods={name: frozenset(one) for name, one in methods.items()}
    )
