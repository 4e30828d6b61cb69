"""When a cron expression fires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo

from cronwalk.fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, CronError, Field, parse_field

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

# A 29th of February can be eight years away, and it falls on each day of the week within 40.
HORIZON = timedelta(days=41 * 366)


class NeverFires(Exception):
    """No day matches, such as the 30th of February."""


@dataclass(frozen=True)
class Schedule:
    """A parsed cron expression."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @classmethod
    def parse(cls, expression: str) -> Schedule:
        """Read five fields or a shorthand.

        Raises:
            CronError: the expression is not one that cron would accept.
        """
        texts = SHORTHANDS.get(expression.strip().lower(), expression).split()
        kinds = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
        if len(texts) != len(kinds):
            raise CronError(f"expected 5 fields, found {len(texts)}: {expression!r}")
        return cls(*map(parse_field, texts, kinds))

    def matches(self, moment: datetime) -> bool:
        """Whether it fires in the minute of that moment."""
        return (
            moment.minute in self.minute
            and moment.hour in self.hour
            and self.matches_day(moment.date())
        )

    def matches_day(self, day: date) -> bool:
        """Whether it fires on that day at all."""
        if day.month not in self.month:
            return False
        by_day = day.day in self.day
        by_weekday = day.isoweekday() % 7 in self.weekday
        if self.day.starred or self.weekday.starred:
            return by_day and by_weekday
        return by_day or by_weekday

    def next_after(self, after: datetime) -> datetime:
        """The first time it fires later than a moment.

        Raises:
            ValueError: the moment has no time zone.
            NeverFires: it does not fire within the next 41 years.
        """
        for moment in self.fires_after(after):
            return moment
        raise NeverFires(f"no matching day in the 41 years after {after:%Y-%m-%d}")

    def fires_after(self, after: datetime) -> Iterator[datetime]:
        """All the times it fires later than a moment, in order, up to the horizon.

        Raises:
            ValueError: the moment has no time zone.
        """
        if after.tzinfo is None:
            raise ValueError("the moment needs a time zone")
        for day in self._days_from(after.date()):
            for moment in self._moments_of(day, after.tzinfo):
                if moment > after:
                    yield moment

    def _days_from(self, first: date) -> Iterator[date]:
        day, last = first, min(first, date.max - HORIZON) + HORIZON
        while day < last:
            if self.matches_day(day):
                yield day
            day += timedelta(days=1)

    def _moments_of(self, day: date, zone: tzinfo) -> Iterator[datetime]:
        """The times it fires on a day that matches, in order."""
        for hour in self.hour:
            for minute in self.minute:
                moment = datetime.combine(day, time(hour, minute), zone)
                if _exists(moment):
                    yield moment


def _exists(moment: datetime) -> bool:
    """Whether the clock ever shows that time; it may be skipped when clocks are put forward."""
    shown = moment.astimezone(timezone.utc).astimezone(moment.tzinfo)
    return shown.replace(tzinfo=None) == moment.replace(tzinfo=None)
