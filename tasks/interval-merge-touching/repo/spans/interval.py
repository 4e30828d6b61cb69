"""One interval, held as two cuts in the line of numbers.

A cut is a place *between* numbers: just below a value or just above it. Every interval,
open or closed, then is simply what lies between two cuts:

    [1, 2]   from below 1 to above 2
    [1, 2)   from below 1 to below 2
    (1, 2)   from above 1 to below 2

so none of the code that compares intervals has to look at brackets.
"""

from __future__ import annotations

import math
from typing import NamedTuple

BELOW = 0
ABOVE = 1


class Cut(NamedTuple):
    """A place just below or just above a value. Cuts compare in the order of the line."""

    value: float
    side: int


class Interval(NamedTuple):
    """The numbers between two cuts; never empty. Make one with a constructor below."""

    start: Cut
    end: Cut

    @classmethod
    def closed(cls, low: float, high: float) -> Interval:
        """[low, high]"""
        return cls.between(Cut(low, BELOW), Cut(high, ABOVE))

    @classmethod
    def open(cls, low: float, high: float) -> Interval:
        """(low, high)"""
        return cls.between(Cut(low, ABOVE), Cut(high, BELOW))

    @classmethod
    def half_open(cls, low: float, high: float) -> Interval:
        """[low, high)"""
        return cls.between(Cut(low, BELOW), Cut(high, BELOW))

    @classmethod
    def point(cls, value: float) -> Interval:
        """{value}"""
        return cls.closed(value, value)

    @classmethod
    def between(cls, start: Cut, end: Cut) -> Interval:
        """The interval from one cut to a later one.

        Raises:
            ValueError: nothing lies between the cuts, or an infinite end is closed.
        """
        if not start < end:
            raise ValueError(f"nothing lies between {start} and {end}")
        if start == Cut(-math.inf, BELOW) or end == Cut(math.inf, ABOVE):
            raise ValueError("an infinite end cannot be closed")
        return cls(start, end)

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (int, float)):
            return False
        return self.start <= Cut(value, BELOW) and Cut(value, ABOVE) <= self.end

    @property
    def length(self) -> float:
        """How much of the line it covers; open and closed ends make no difference."""
        return self.end.value - self.start.value

    def overlaps(self, other: Interval) -> bool:
        """Whether at least one number is in both."""
        return self.start < other.end and other.start < self.end

    def intersection(self, other: Interval) -> Interval | None:
        """The numbers that are in both, or None if there are none."""
        if not self.overlaps(other):
            return None
        return Interval(max(self.start, other.start), min(self.end, other.end))

    def __str__(self) -> str:
        if self.start.value == self.end.value:
            return f"{{{self.start.value:g}}}"
        left = "[" if self.start.side == BELOW else "("
        right = "]" if self.end.side == ABOVE else ")"
        return f"{left}{self.start.value:g}, {self.end.value:g}{right}"
