"""The literals of the code under test: inputs near them matter, and others may be implausible."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Iterator

HUGE = 1e12  # rounding alone makes differences between larger numbers
LONGEST_TEXT = 80
_PATTERN_SIGNS = re.compile(r"[\^$\\\[]|\.[*+?]")


@dataclasses.dataclass(frozen=True)
class KnownLiterals:
    """The literals that code and tests use."""

    ints: tuple[int, ...]
    floats: tuple[float, ...]
    texts: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    special: bool  # the code handles nan or infinity
    anything: bool  # unusual texts are inputs, too

    @classmethod
    def of(cls, literals: list[str], sources: list[str], *, anything: bool) -> KnownLiterals:
        values = [value for text in literals for value in _value(text)]
        ints = [one for one in values if type(one) is int]
        texts = [one for one in values if type(one) is str and len(one) <= LONGEST_TEXT]
        has_patterns = any("re." in source or "match(" in source for source in sources)
        return cls(
            ints=tuple(dict.fromkeys(near for one in ints for near in (one, one - 1, one + 1))),
            floats=tuple(one for one in values if type(one) is float and abs(one) < HUGE),
            texts=tuple(texts),
            patterns=tuple(one for text in texts for one in _pattern(text)) if has_patterns else (),
            special=any(map(_handles_nan, sources)),
            anything=anything,
        )

    def is_plausible(self, program: list[str], *, ascii_only: bool) -> bool:
        """Whether a program that a solver found has inputs that a user would give.

        Its numbers are small enough for exact sums, unless the code handles nan or infinity.

        Args:
            program: The statements.
            ascii_only: Texts may only have letters of ASCII and of the code's own literals.
        """
        values = [value for statement in program for value in _values_in(statement)]
        numbers = [one for one in values if isinstance(one, float)]
        if not self.special and not all(math.isfinite(n) and abs(n) < HUGE for n in numbers):
            return False
        letters = set("".join(self.texts))
        texts = [one for one in values if isinstance(one, str)]
        return not ascii_only or all(set(one) <= letters or one.isascii() for one in texts)


def _handles_nan(source: str) -> bool:
    if any(word in source for word in ("nan", "inf", "isfinite")):
        return True
    return re.search(r"\b(\w+) [!=]= \1\b", source) is not None  # only nan differs from itself


def _pattern(text: str) -> tuple[re.Pattern[str], ...]:
    if not _PATTERN_SIGNS.search(text):
        return ()
    try:
        return (re.compile(text, re.ASCII),)
    except (re.error, RecursionError, OverflowError):
        return ()


def _value(text: str) -> tuple[object, ...]:
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()


# The literals of a statement; `float('nan')` counts as the number that it is.
def _values_in(statement: str) -> Iterator[object]:
    for node in ast.walk(ast.parse(statement)):
        if isinstance(node, ast.Constant):
            yield node.value
        elif isinstance(node, ast.Name) and node.id in ("nan", "inf"):
            yield math.nan
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float" and node.args:
            text = str(getattr(node.args[0], "value", ""))
            if text.strip("-+") in ("nan", "inf", "infinity"):
                yield math.nan
