"""Sets of intervals in their shortest form, and the algebra of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from spans.interval import ABOVE, BELOW, Cut, Interval

EVERYTHING = Interval(Cut(-math.inf, ABOVE), Cut(math.inf, BELOW))


class IntervalSet:
    """An immutable set of numbers."""

    __slots__ = ("_parts",)

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self._parts: tuple[Interval, ...] = tuple(_shortest(intervals))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals of the shortest form, in ascending order."""
        return self._parts

    def __iter__(self) -> Iterator[Interval]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __contains__(self, value: object) -> bool:
        return any(value in part for part in self._parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __str__(self) -> str:
        return " u ".join(map(str, self._parts)) or "{}"

    def __repr__(self) -> str:
        return f"<IntervalSet {self}>"

    def union(self, other: IntervalSet) -> IntervalSet:
        """The numbers that are in either set."""
        return IntervalSet(self._parts + other._parts)

    def intersection(self, other: IntervalSet) -> IntervalSet:
        """The numbers that are in both sets."""
        return IntervalSet(_common(self._parts, other._parts))

    def complement(self, within: Interval = EVERYTHING) -> IntervalSet:
        """The numbers of `within` that are not in this set."""
        holes = []
        start = within.start
        for part in self.intersection(IntervalSet([within])):
            if start < part.start:
                holes.append(Interval(start, part.start))
            start = part.end
        if start < within.end:
            holes.append(Interval(start, within.end))
        return IntervalSet(holes)

    def difference(self, other: IntervalSet) -> IntervalSet:
        """The numbers of this set that are not in the other."""
        return self.intersection(other.complement())

    __or__ = union
    __and__ = intersection
    __sub__ = difference

    def hull(self) -> Interval | None:
        """The smallest interval that holds the whole set; None if the set is empty."""
        if not self._parts:
            return None
        return Interval(self._parts[0].start, self._parts[-1].end)

    def gaps(self) -> IntervalSet:
        """The holes between the first and the last number of the set."""
        hull = self.hull()
        return self.complement(within=hull) if hull else IntervalSet()

    def measure(self) -> float:
        """The total length of the set."""
        return sum(part.length for part in self._parts)


def _shortest(intervals: Iterable[Interval]) -> list[Interval]:
    """The same numbers in as few intervals as possible, in ascending order."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and merged[-1].overlaps(interval):
            last = merged.pop()
            interval = Interval(last.start, max(last.end, interval.end))
        merged.append(interval)
    return merged


def _common(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> Iterator[Interval]:
    """What two ascending rows of intervals share, found in one pass over both."""
    i = j = 0
    while i < len(left) and j < len(right):
        shared = left[i].intersection(right[j])
        if shared is not None:
            yield shared
        if left[i].end < right[j].end:
            i += 1
        else:
            j += 1
