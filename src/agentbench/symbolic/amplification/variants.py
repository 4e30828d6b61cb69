"""A file of tests, with many changed ones in the place of each."""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agentbench import syntax
from agentbench.symbolic.amplification.cases import Function, cases_of, with_one_case
from agentbench.symbolic.amplification.changes import (
    Change,
    Changed,
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
    """A changed test: which it was, and what was changed, for a reader."""

    test: str
    edits: tuple[Edit, ...]


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
    variants: dict[str, Variant] = {}
    for body in _bodies(tree):
        body[:] = [one for node in body for one in _made(node, spoken, random, most, variants)]
    if not variants:
        return None
    observing = Observing()
    observed = ast.fix_missing_locations(observing.visit(tree))
    return Amplified(
        source=ast.unparse(observed), variants=variants, places=tuple(observing.places)
    )


def changed_name(node_id: str) -> str:
    """The name of the changed function that a node id of pytest is about."""
    return node_id.rpartition("::")[2].partition("[")[0]


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    yield tree.body
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.body


def _made(
    node: ast.stmt,
    spoken: Spoken,
    random: Random,
    most: Callable[[str], int],
    variants: dict[str, Variant],
) -> list[ast.stmt]:
    """The changed tests in the place of a test; what is none stays."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith(
        "test"
    ):
        return [node]
    made: list[ast.stmt] = []
    for at, function in enumerate(_chosen(node, spoken, random, most(node.name))):
        function.function.name = f"{node.name}{_MARK}{at}"
        variants[function.function.name] = Variant(test=node.name, edits=function.edits)
        made.append(function.function)
    return made


def _chosen(node: Function, spoken: Spoken, random: Random, most: int) -> Iterator[Changed]:
    seen: set[tuple[Edit, ...]] = set()
    has_cases = any(cases_of(one) is not None for one in node.decorator_list)
    waiting = [] if has_cases else changes_of(node, spoken, random)
    for turn in range(2 * most):
        one = node
        if has_cases:
            with_one_case(one := copy.deepcopy(node), random)
            waiting = changes_of(one, spoken, random)
        if not waiting or len(seen) >= most:
            return
        made = changed(one, _drawn(waiting, turn, random))
        if made.edits not in seen:
            seen.add(made.edits)
            yield made


def _drawn(waiting: Sequence[Change], turn: int, random: Random) -> list[Change]:
    """One change at first, each in its turn; later several, of different nodes."""
    many = 1 if turn < len(waiting) and turn % 2 == 0 else random.choice((2, 2, 3))
    first = waiting[turn // 2 % len(waiting)]
    others = random.sample(waiting, min(many - 1, len(waiting)))
    return list({one.node: one for one in (*others, first)}.values())


def _spoken(tree: ast.Module) -> Spoken:
    texts: dict[str, None] = {}
    methods: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if 0 < len(node.value) <= _LONGEST:
                texts[node.value] = None
        elif (called := called_of(node)) is not None:
            methods.setdefault(called.value.id, set()).add(called.attr)
    return Spoken(
        texts=tuple(texts), methods={name: frozenset(one) for name, one in methods.items()}
    )
