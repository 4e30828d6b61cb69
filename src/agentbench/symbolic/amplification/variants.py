"""A file of tests, with many changed ones in the place of each."""

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agentbench import syntax
from agentbench.symbolic.amplification.cases import Function, cases_of, with_one_case
from agentbench.symbolic.amplification.changes import Changed, changed, changes_of
from agentbench.symbolic.amplification.observing import Observing

_MARK = "__as_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A changed test: which it was, and what was changed, for a reader."""

    test: str
    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplified:
    """A file of changed tests."""

    source: str
    variants: dict[str, Variant]
    """By the name of the changed function."""
    places: tuple[str, ...]
    """What is observed, as source, by its number."""


def amplify(source: str, *, seed: int, most: int) -> Amplified | None:
    """Make changed tests of a file; None where it has none that can be changed.

    Args:
        source: The file.
        seed: Of the choice among changes.
        most: Changed tests for each test.
    """
    tree = syntax.parse(source)
    random = Random(seed)
    texts = _texts(tree)
    variants: dict[str, Variant] = {}
    for body in _bodies(tree):
        body[:] = [one for node in body for one in _made(node, texts, random, most, variants)]
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
    node: ast.stmt, texts: Sequence[str], random: Random, most: int, variants: dict[str, Variant]
) -> list[ast.stmt]:
    """The changed tests in the place of a test; what is none stays."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith(
        "test"
    ):
        return [node]
    made: list[ast.stmt] = []
    for at, function in enumerate(_chosen(node, texts, random, most)):
        function.function.name = f"{node.name}{_MARK}{at}"
        variants[function.function.name] = Variant(
            test=node.name, line=function.line, before=function.before, after=function.after
        )
        made.append(function.function)
    return made


def _chosen(node: Function, texts: Sequence[str], random: Random, most: int) -> Iterator[Changed]:
    seen: set[tuple[int, str, str]] = set()
    has_cases = any(cases_of(one) is not None for one in node.decorator_list)
    waiting = [] if has_cases else changes_of(node, texts, random)
    for _ in range(2 * most):
        one = node
        if has_cases:
            with_one_case(one := copy.deepcopy(node), random)
            waiting = changes_of(one, texts, random)
        if not waiting or len(seen) >= most:
            return
        made = changed(one, waiting.pop(0))
        key = made.line, made.before, made.after
        if key not in seen:
            seen.add(key)
            yield made


def _texts(tree: ast.Module) -> list[str]:
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str) and 0 < len(value) <= 80]
