"""Searches by hypothesis: for a program that matters, a smaller one, and types that fit."""

from __future__ import annotations

import ast
import functools
import itertools
import time
import warnings
from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from . import messages
from .foreign_code import call_foreign
from .inputs import NoInputsError, programs
from .literals import KnownLiterals

Program = list[str]
Check = Callable[[Program], bool]

_MOST_STEPS = 150  # of making smaller
_HUGE = 1e300
_SHRINKING = 6.0  # seconds at most, in which hypothesis makes an example smaller
_COMBINATIONS = 60  # of types
_SAMPLES = 6  # inputs for a combination of types
_GUESSES: tuple[messages.TypeDescription, ...] = (
    {"t": "int"},
    {"t": "str"},
    {"t": "list", "of": {"t": "int"}},
    {"t": "float"},
    {"t": "list", "of": {"t": "str"}},
    {"t": "dict", "keys": {"t": "str"}, "values": {"t": "int"}},
    {"t": "bool"},
)


class _DifferentError(Exception):
    """Tells hypothesis to go on with smaller examples."""


def search(
    strategy: SearchStrategy[Program], differs: Check, until: float, request: messages.Request
) -> Program | None:
    """The smallest program found on which two callables differ."""
    found: list[Program] = []
    limit = until

    def check(program: Program) -> None:
        nonlocal limit
        if time.monotonic() > limit or not differs(program):
            return
        if not found:
            limit = time.monotonic() + _SHRINKING
        found.append(program)
        raise _DifferentError

    examples, first = request.get("examples", 500), request.get("seed", 0)
    run = functools.partial(_run_examples, strategy, check, most=examples, first=first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Hypothesis wraps the error and takes the end of the time for flakiness.
        error = call_foreign(run, catch=BaseException, let_through=(KeyboardInterrupt,)).error
    if error is not None and not found:
        raise error
    by_size = sorted(found, key=lambda program: (len(program), sum(map(len, program))))
    return by_size[0] if found else None


# Run a check on examples of a strategy; on smaller ones if it raises.
def _run_examples(
    strategy: SearchStrategy[Program], check: Callable[[Program], None], *, most: int, first: int
) -> None:
    options = settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )

    @seed(first)
    @options
    @given(strategy)
    def attempt(program: Program) -> None:
        check(program)

    attempt()


def smaller(program: Program, differs: Check) -> Program:
    """Leave out steps and bring literals closer to zero, as long as the callables differ."""
    steps = _MOST_STEPS
    again = True
    while again:
        again = False
        for candidate in _candidates(program):
            if steps <= 0:
                return program
            steps -= 1
            if differs(candidate):
                program, again = candidate, True
                break
    return program


def _candidates(program: Program) -> Iterator[Program]:
    for at, statement in enumerate(program[:-1]):
        if statement.startswith(("it.", "import ")):
            yield program[:at] + program[at + 1 :]
    for at, statement in enumerate(program):
        if not statement.isascii() or "\n" in statement:
            continue  # columns count bytes
        for node in ast.walk(ast.parse(statement)):
            if isinstance(node, ast.Constant):
                for other in _simpler(node.value):
                    end = statement[node.end_col_offset or 0 :]
                    changed = statement[: node.col_offset] + repr(other) + end
                    yield [*program[:at], changed, *program[at + 1 :]]


def _simpler(value: object) -> list[object]:
    if isinstance(value, str) and value:
        return [value[: len(value) // 2], value[len(value) // 2 :], value[1:], value[:-1]]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _HUGE:
        return []
    return [near for near in (0, 1, 2, int(value / 2), int(value)) if _is_simpler(near, value)]


def _is_simpler(near: int, value: float) -> bool:
    return abs(near) < abs(value) or (near == value and len(repr(near)) < len(repr(value)))


def guess_types(
    parameters: list[messages.Parameter],
    described: messages.Description,
    known: KnownLiterals,
    works: Check,
) -> None:
    """Give untyped parameters of a description the types with which the reference works best.

    Args:
        parameters: Those without a type, as parts of the description.
        described: The callable.
        known: The literals of the code.
        works: Whether the reference takes an input, as far as its types go.
    """
    combinations = sorted(
        itertools.islice(itertools.product(_GUESSES, repeat=len(parameters)), 20_000),
        key=lambda types: len({one["t"] for one in types}),  # the most uniform first
    )
    rated = []
    for types in combinations[:_COMBINATIONS]:
        for parameter, guess in zip(parameters, types, strict=True):
            parameter["type"] = guess
        rated.append((_share_that_works(described, known, works), types))
    best = max(rate for rate, _types in rated)
    chosen = [types for rate, types in rated if rate == best][:3]
    for at, parameter in enumerate(parameters):
        alternatives: list[messages.TypeDescription] = []
        for types in chosen:
            if types[at] not in alternatives:
                alternatives.append(types[at])
        parameter["type"] = {"t": "union", "of": alternatives}


# The share of inputs on which the reference does not fail because of their types.
def _share_that_works(described: messages.Description, known: KnownLiterals, works: Check) -> float:
    worked: list[bool] = []
    try:
        strategy = programs(described, known)
    except NoInputsError:
        return 0.0
    _run_examples(strategy, lambda program: worked.append(works(program)), most=_SAMPLES, first=0)
    return sum(worked) / len(worked) if worked else 0.0
