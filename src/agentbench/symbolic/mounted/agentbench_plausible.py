"""Which inputs that a solver worked out are any that somebody would give."""

from __future__ import annotations

import ast
import math
from typing import Any

_HUGE = 1e12  # beyond, rounding alone makes differences


def is_plausible(program: list[str], known: Any, *, ascii_alone: bool) -> bool:
    """Whether its numbers are of a size in which sums are what they should be, and its texts read.

    Args:
        program: The statements.
        known: What the code in question speaks of: where it speaks of nan or infinity, these count.
        ascii_alone: Whether texts have no other letters than ASCII's and those of the code.
    """
    letters = set("".join(known.texts)) if ascii_alone else set()
    values = [value for statement in program for value in _values(statement)]
    numbers = [one for one in values if isinstance(one, float)]
    texts = [one for one in values if isinstance(one, str)]
    if not known.special and not all(math.isfinite(one) and abs(one) < _HUGE for one in numbers):
        return False
    return not ascii_alone or all(set(one) <= letters or one.isascii() for one in texts)


def _values(statement: str) -> list[Any]:
    """The literals of a statement; `float('nan')` counts as the number that it is."""
    found: list[Any] = []
    for node in ast.walk(ast.parse(statement)):
        if isinstance(node, ast.Constant):
            found.append(node.value)
        if isinstance(node, ast.Name) and node.id in ("nan", "inf"):
            found.append(math.nan)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float" and node.args:
            text = getattr(node.args[0], "value", "")
            found += [math.nan] if str(text).strip("-+") in ("nan", "inf", "infinity") else []
    return found
