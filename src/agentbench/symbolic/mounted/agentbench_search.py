"""The search by hypothesis, and what it found made as small as it gets."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Look = Callable[[list[str]], Any]
_TRIES = 150  # of making smaller
_HUGE = 1e300
_SHRINKING = 6.0  # seconds at most, for what hypothesis makes smaller


class _DifferentError(Exception):
    """Tells hypothesis to go on with smaller ones."""


def search(
    strategy: st.SearchStrategy[list[str]], look: Look, until: float, question: dict[str, Any]
) -> list[str] | None:
    """The smallest program found on which they differ."""
    found: list[list[str]] = []
    limit = [until]

    @seed(question.get("seed", 0))
    @settings(
        max_examples=question.get("examples", 500),
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(strategy)
    def attempt(program: list[str]) -> None:
        if time.monotonic() > limit[0] or not look(program):
            return
        if not found:
            limit[0] = time.monotonic() + _SHRINKING
        found.append(program)
        raise _DifferentError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            attempt()
        except BaseException as error:  # it wraps what was raised, and calls the end of time flaky
            if isinstance(error, KeyboardInterrupt) or not found:
                raise
    return min(found, key=_size) if found else None


def smaller(program: list[str], look: Look) -> list[str]:
    """Leave out steps and bring literals nearer to nothing, as long as they still differ."""
    tries = _TRIES
    again = True
    while again:
        again = False
        for candidate in _candidates(program):
            if tries <= 0:
                return program
            tries -= 1
            if look(candidate):
                program, again = candidate, True
                break
    return program


def _size(program: list[str]) -> tuple[int, int]:
    return len(program), sum(map(len, program))


def _candidates(program: list[str]) -> Iterator[list[str]]:
    for at, statement in enumerate(program[:-1]):
        if statement.startswith(("it.", "import ")):
            yield program[:at] + program[at + 1 :]
    for at, statement in enumerate(program):
        for start, end, value in _literals(statement):
            for other in _nearer(value):
                changed = statement[:start] + repr(other) + statement[end:]
                yield [*program[:at], changed, *program[at + 1 :]]


def _literals(statement: str) -> list[tuple[int, int, Any]]:
    """Where its numbers and texts stand; only lines of ASCII are looked at."""
    if not statement.isascii() or "\n" in statement:
        return []
    found = [node for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Constant)]
    return [(one.col_offset, one.end_col_offset or 0, one.value) for one in found]


def _nearer(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [value[: len(value) // 2], value[len(value) // 2 :], value[1:], value[:-1]]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _HUGE:
        return []
    return [near for near in (0, 1, 2, int(value / 2), int(value)) if _is_nearer(near, value)]


def _is_nearer(near: int, value: float) -> bool:
    return abs(near) < abs(value) or (near == value and len(repr(near)) < len(repr(value)))
