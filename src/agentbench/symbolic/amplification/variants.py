"""A file of tests with many changed tests in the place of each."""

import ast
import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import NamedTuple

from agentbench.core import python_syntax
from agentbench.symbolic.amplification.function_edits import (
    EditDescription,
    FileVocabulary,
    Function,
    NodeChange,
    apply_changes,
    called_of,
    cases_of,
    changes_of,
    with_one_case,
)
from agentbench.symbolic.amplification.observing import AssertionObserver

_MARK = "__as_"
_LONGEST = 80  # characters of a text that others are made with; a docstring is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTestVariant:
    """A changed test: which it was, what was changed, and how it is told to a reader."""

    test: str
    edits: tuple[EditDescription, ...]
    origin: Function = field(compare=False, repr=False)
    changes: tuple[NodeChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplifiedTests:
    """A file of changed tests."""

    source: str
    variants: dict[str, ChangedTestVariant]
    """By the name of the changed function."""
    places: tuple[str, ...]
    """What is observed, as source, by its number."""


def amplify(source: str, *, seed: int, most: Callable[[str], int]) -> AmplifiedTests | None:
    """Make changed tests of a file; None where it has none that can be changed.

    Args:
        source: The file.
        seed: Of the choice among changes.
        most: Changed tests for a test, by its name.
    """
    tree = python_syntax.parse(source)
    random = Random(seed)
    spoken = _vocabulary(tree)

    def made(node: Function) -> Iterator[PlannedVariant]:
        return _select_variants(node, spoken, random, most(node.name))

    return _assembled(tree, made)


def reduce(source: str, amplified: AmplifiedTests, names: Collection[str]) -> AmplifiedTests | None:
    """Of some changed tests those with a part of their changes; None where all have one alone.

    Args:
        source: The file as it was before anything was changed.
        amplified: What was made of it.
        names: Of the changed functions.
    """
    wanted = [amplified.variants[name] for name in names]

    def made(node: Function) -> Iterator[PlannedVariant]:
        for one in wanted:
            if one.test == node.name and one.origin.lineno == node.lineno:
                yield from (PlannedVariant(one.origin, changes) for changes in _parts(one.changes))

    return _assembled(python_syntax.parse(source), made)


class PlannedVariant(NamedTuple):
    """A test to change, and how."""

    origin: Function
    changes: tuple[NodeChange, ...]


def _assembled(
    tree: ast.Module, made: Callable[[Function], Iterable[PlannedVariant]]
) -> AmplifiedTests | None:
    variants: dict[str, ChangedTestVariant] = {}
    for body in _bodies(tree):
        body[:] = [one for node in body for one in _in_place_of(node, made, variants)] or [
            ast.Pass()
        ]
    if not variants:
        return None
    observing = AssertionObserver()
    observed = ast.fix_missing_locations(observing.visit(tree))
    return AmplifiedTests(
        source=ast.unparse(observed), variants=variants, places=tuple(observing.places)
    )


def _parts(changes: tuple[NodeChange, ...]) -> Iterator[tuple[NodeChange, ...]]:
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
    node: ast.stmt,
    made: Callable[[Function], Iterable[PlannedVariant]],
    variants: dict[str, ChangedTestVariant],
) -> list[ast.stmt]:
    """The changed tests in the place of a test; what is none stays."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not _is_test(node):
        return [node]
    found: list[ast.stmt] = []
    for origin, changes in made(node):
        one = apply_changes(origin, changes)
        # Two classes may have tests of the same name.
        one.function.name = f"{node.name}{_MARK}{len(variants)}"
        variants[one.function.name] = ChangedTestVariant(
            test=node.name, edits=one.edits, origin=origin, changes=tuple(changes)
        )
        found.append(one.function)
    return found


def _is_test(node: Function) -> bool:
    return node.name.startswith("test")


def _select_variants(
    node: Function, spoken: FileVocabulary, random: Random, most: int
) -> Iterator[PlannedVariant]:
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
            yield PlannedVariant(one, drawn)


def _drawn(waiting: Sequence[NodeChange], turn: int, random: Random) -> tuple[NodeChange, ...]:
    """One change at first, each in its turn; later several, of different nodes."""
    many = 1 if turn < len(waiting) and turn % 2 == 0 else random.choice((2, 2, 3))
    first = waiting[turn // 2 % len(waiting)]
    others = random.sample(waiting, min(many - 1, len(waiting)))
    return tuple({one.node: one for one in (*others, first)}.values())


def _vocabulary(tree: ast.Module) -> FileVocabulary:
    texts: dict[str, None] = {}
    methods: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if 0 < len(node.value) <= _LONGEST:
                texts[node.value] = None
        elif (called := called_of(node)) is not None:
            methods.setdefault(called.on, set()).add(called.method)
    return FileVocabulary(
        texts=tuple(texts), methods={name: frozenset(one) for name, one in methods.items()}
    )
