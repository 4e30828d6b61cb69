"""Time zones whose clocks change by a yearly rule."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

MONDAY, SUNDAY = 0, 6
LAST = -1


@dataclass(frozen=True)
class YearlyChange:
    """The nth (or last) weekday of a month, and what clocks show just before they change."""

    month: int
    nth: int
    weekday: int
    at: time

    def in_year(self, year: int) -> datetime:
        """The reading just before the change in a year, without a time zone."""
        if self.nth == LAST:
            last = date(year + self.month // 12, self.month % 12 + 1, 1) - timedelta(days=1)
            day = last - timedelta(days=(last.weekday() - self.weekday) % 7)
        else:
            first = date(year, self.month, 1)
            days = (self.weekday - first.weekday()) % 7 + 7 * (self.nth - 1)
            day = first + timedelta(days=days)
        return datetime.combine(day, self.at)


class RuleZone(tzinfo):
    """A zone with standard time and, between two yearly changes, summer time.

    Readings that come twice or never are told apart by `fold`, as the datetime module has it.
    """

    def __init__(
        self,
        name: str,
        standard: timedelta,
        begins: YearlyChange,
        ends: YearlyChange,
        saving: timedelta = timedelta(hours=1),
    ):
        self._name = name
        self._standard = standard
        self._begins = begins
        self._ends = ends
        self._saving = saving

    def __repr__(self) -> str:
        return f"<RuleZone {self._name}>"

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        if dt is None:
            return None
        return self._standard + self.dst(dt)

    def dst(self, dt: datetime | None) -> timedelta:
        if dt is None:
            return timedelta(0)
        wall = dt.replace(tzinfo=None, fold=0)
        begins, ends = self._begins.in_year(dt.year), self._ends.in_year(dt.year)
        if begins <= wall < begins + self._saving:  # skipped
            summer = dt.fold == 1
        elif ends - self._saving <= wall < ends:  # comes twice
            summer = dt.fold == 0
        elif begins < ends:
            summer = begins <= wall < ends
        else:
            summer = not ends <= wall < begins
        return self._saving if summer else timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        return f"{self._name} summer time" if self.dst(dt) else f"{self._name} time"

    def fromutc(self, dt: datetime) -> datetime:
        utc = dt.replace(tzinfo=None)
        year = (utc + self._standard).year
        begins = self._begins.in_year(year) - self._standard
        ends = self._ends.in_year(year) - self._standard - self._saving
        summer = begins <= utc < ends if begins < ends else not ends <= utc < begins
        wall = dt + self._standard + (self._saving if summer else timedelta(0))
        return wall.replace(fold=int(ends <= utc < ends + self._saving))


CENTRAL_EUROPE = RuleZone(
    "Central European",
    timedelta(hours=1),
    begins=YearlyChange(3, LAST, SUNDAY, time(2)),
    ends=YearlyChange(10, LAST, SUNDAY, time(3)),
)
US_EASTERN = RuleZone(
    "US Eastern",
    timedelta(hours=-5),
    begins=YearlyChange(3, 2, SUNDAY, time(2)),
    ends=YearlyChange(11, 1, SUNDAY, time(2)),
)
SYDNEY = RuleZone(
    "Sydney",
    timedelta(hours=10),
    begins=YearlyChange(10, 1, SUNDAY, time(2)),
    ends=YearlyChange(4, 1, SUNDAY, time(3)),
)
