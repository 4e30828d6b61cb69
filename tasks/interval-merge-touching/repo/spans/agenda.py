"""A calendar of half-open bookings, in whatever unit the caller counts (hours, minutes)."""

from __future__ import annotations

from collections.abc import Iterable

from spans.interval import Interval
from spans.sets import IntervalSet


class Agenda:
    """The bookings of one room on one day, which opens and closes at given times."""

    def __init__(self, opens: float, closes: float) -> None:
        self._day = Interval.half_open(opens, closes)
        self._booked = IntervalSet()

    @property
    def booked(self) -> IntervalSet:
        """When the room is taken."""
        return self._booked

    def book(self, start: float, end: float) -> None:
        """Take the room from start up to, but not including, end.

        Raises:
            ValueError: the room is closed or already taken for a part of that time.
        """
        slot = IntervalSet([Interval.half_open(start, end)])
        if slot - IntervalSet([self._day]):
            raise ValueError(f"the room is only open during {self._day}")
        clash = slot & self._booked
        if clash:
            raise ValueError(f"the room is already taken during {clash}")
        self._booked |= slot

    def book_all(self, slots: Iterable[tuple[float, float]]) -> None:
        """Book several slots, in the order given."""
        for start, end in slots:
            self.book(start, end)

    def free(self, at_least: float = 0) -> list[tuple[float, float]]:
        """The (start, end) of every free stretch of at least that length."""
        stretches = self._booked.complement(within=self._day)
        return [(s.start.value, s.end.value) for s in stretches if s.length >= at_least]

    def longest_busy(self) -> float:
        """The length of the longest time without a break between bookings."""
        return max((part.length for part in self._booked), default=0)
