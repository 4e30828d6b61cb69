"""Variants of a file of tests, and observations of the values that its assertions check."""

import ast
import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from random import Random
from typing import NamedTuple

from agentbench.extensions.symbolic import function_edits
from agentbench.python_source import python_syntax

OBSERVER = "__agentbench__"
_EQUAL = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_PAIRS = ("assertEqual", "assertEquals", "assertNotEqual", "assertAlmostEqual")
_EQUALS = ("assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual")
_MARK = "__as_"
_LONGEST = 80  # characters of a text to build others from; a docstring is longer


class AssertionObserver(ast.NodeTransformer):
    """Turns assertions into observations; `places` has the observed source of each."""

    def __init__(self) -> None:
        self.places: list[str] = []

    # Observe both sides of a comparison, and only the truth of anything else.
    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        sides = [] if _is_private(node.test) else _sides(node.test)
        if sides is None:
            return [self._see("truth", node.test, node)]
        return self._see_all(sides, node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) as call:
                pass
            case _:
                return node
        if not name.startswith("assert"):
            return node
        if _is_private(call):
            return self._see_all([], node)
        if name in _PAIRS + _EQUALS:
            return self._see_all(_varying(call.args[:2]), node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        assertion_call = ast.Lambda(args=nothing, body=call)
        return self._see("holds", assertion_call, node, described=call)

    def visit_With(self, node: ast.With) -> ast.With:
        self.generic_visit(node)
        for item in node.items:
            if _expects_error(item.context_expr):
                number = ast.Constant(self._expression_number(item.context_expr))
                item.context_expr = ast.copy_location(_call("raises", [number]), item.context_expr)
        return node

    def _see(
        self, how: str, value: ast.expr, node: ast.stmt, *, described: ast.expr | None = None
    ) -> ast.stmt:
        number = ast.Constant(self._expression_number(described or value))
        return ast.copy_location(ast.Expr(_call(how, [number, value])), node)

    def _see_all(self, sides: Sequence[ast.expr], node: ast.stmt) -> list[ast.stmt]:
        observed = [self._see("see", side, node) for side in sides]
        return observed or [ast.copy_location(ast.Pass(), node)]

    def _expression_number(self, node: ast.expr) -> int:
        self.places.append(ast.unparse(node))
        return len(self.places) - 1


def _call(how: str, arguments: list[ast.expr]) -> ast.Call:
    observer = ast.Name(OBSERVER, ast.Load())
    return ast.Call(ast.Attribute(observer, how, ast.Load()), arguments, [])


# The two sides of an equality; `None` for another expression.
def _sides(test: ast.expr) -> list[ast.expr] | None:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _EQUAL):
        return _varying([test.left, *test.comparators])
    return None


def _varying(sides: Iterable[ast.expr]) -> list[ast.expr]:
    kinds = (ast.Call, ast.Name)
    return [side for side in sides if any(isinstance(one, kinds) for one in ast.walk(side))]


def _expects_error(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return python_syntax.name_of(node.func) in ("raises", "assertRaises", "assertRaisesRegex")


# Whether an expression depends on details that may differ between correct fixes.
def _is_private(node: ast.expr) -> bool:
    names = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return any(name.startswith("_") and not name.endswith("__") for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTestVariant:
    """A changed test: its original, its changes and their description for a reader."""

    test: str
    edits: tuple[function_edits.EditDescription, ...]
    origin: function_edits.Function = field(compare=False, repr=False)
    changes: tuple[function_edits.NodeChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplifiedTests:
    """A file of changed tests."""

    source: str
    variants: dict[str, ChangedTestVariant]  # the changed tests by the names of their functions
    places: tuple[str, ...]  # the source of each observed expression, by its number


def amplify(source: str, *, seed: int, most: Callable[[str], int]) -> AmplifiedTests | None:
    """Derive changed tests, at most `most` of each test; `None` if no test can be changed.

    Args:
        source: The file.
        seed: The seed of the choice among changes.
        most: The largest number of changed tests for each test, by its name.
    """
    tree = python_syntax.parse(source)
    random = Random(seed)
    spoken = _vocabulary(tree)

    def plan_variants(node: function_edits.Function) -> Iterator[PlannedVariant]:
        return _select_variants(node, spoken, random, most(node.name))

    return _assembled(tree, plan_variants)


def reduce(source: str, amplified: AmplifiedTests, names: Collection[str]) -> AmplifiedTests | None:
    """Variants of changed functions with a part of their changes; `None` if each has only one.

    Args:
        source: The unchanged file.
        amplified: The changed file.
        names: The names of the changed functions.
    """
    originals = [amplified.variants[name] for name in names]

    def plan_variants(node: function_edits.Function) -> Iterator[PlannedVariant]:
        for one in originals:
            if one.test == node.name and one.origin.lineno == node.lineno:
                parts = (combinations(one.changes, size) for size in range(1, len(one.changes)))
                yield from (PlannedVariant(one.origin, part) for part in chain(*parts))

    return _assembled(python_syntax.parse(source), plan_variants)


class PlannedVariant(NamedTuple):
    """A test to change, and how."""

    origin: function_edits.Function
    changes: tuple[function_edits.NodeChange, ...]


def _assembled(
    tree: ast.Module, plan_variants: Callable[[function_edits.Function], Iterable[PlannedVariant]]
) -> AmplifiedTests | None:
    variants: dict[str, ChangedTestVariant] = {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    owners: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for owner in owners:
        changed = [
            one for node in owner.body for one in _changed_tests(node, plan_variants, variants)
        ]
        owner.body = changed or [ast.Pass()]
    if not variants:
        return None
    observing = AssertionObserver()
    source = ast.unparse(ast.fix_missing_locations(observing.visit(tree)))
    return AmplifiedTests(source=source, variants=variants, places=tuple(observing.places))


def changed_name(node_id: str) -> str:
    """The name of the changed function in a node id of pytest."""
    return node_id.rpartition("::")[2].partition("[")[0]


# The changed tests in place of a test; other statements are unchanged.
def _changed_tests(
    node: ast.stmt,
    plan_variants: Callable[[function_edits.Function], Iterable[PlannedVariant]],
    variants: dict[str, ChangedTestVariant],
) -> list[ast.stmt]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node]
    if not node.name.startswith("test"):
        return [node]
    found: list[ast.stmt] = []
    for origin, changes in plan_variants(node):
        function, edits = function_edits.apply_changes(origin, changes)
        # Two classes may have tests with the same name.
        function.name = f"{node.name}{_MARK}{len(variants)}"
        variants[function.name] = ChangedTestVariant(
            test=node.name, edits=edits, origin=origin, changes=tuple(changes)
        )
        found.append(function)
    return found


def _select_variants(
    node: function_edits.Function, spoken: function_edits.FileVocabulary, random: Random, most: int
) -> Iterator[PlannedVariant]:
    known_keys: set[tuple[object, ...]] = set()
    has_cases = any(function_edits.cases_of(one) is not None for one in node.decorator_list)
    waiting = [] if has_cases else function_edits.changes_of(node, spoken, random)
    for draw_number in range(2 * most):
        one = node
        if has_cases:
            function_edits.with_one_case(one := copy.deepcopy(node), random)
            waiting = function_edits.changes_of(one, spoken, random)
        if not waiting or len(known_keys) >= most:
            return
        many = (
            1 if draw_number < len(waiting) and draw_number % 2 == 0 else random.choice((2, 2, 3))
        )
        first = waiting[draw_number // 2 % len(waiting)]
        others = random.sample(waiting, min(many - 1, len(waiting)))
        drawn = tuple({one.node: one for one in (*others, first)}.values())
        key = (*drawn, *(ast.dump(decorator) for decorator in one.decorator_list))
        if key not in known_keys:
            known_keys.add(key)
            yield PlannedVariant(one, drawn)


def _vocabulary(tree: ast.Module) -> function_edits.FileVocabulary:
    texts: dict[str, None] = {}
    methods: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if 0 < len(node.value) <= _LONGEST:
                texts[node.value] = None
        elif (called := function_edits.called_of(node)) is not None:
            methods.setdefault(called.on, set()).add(called.method)
    return function_edits.FileVocabulary(
        texts=tuple(texts), methods={name: frozenset(one) for name, one in methods.items()}
    )
