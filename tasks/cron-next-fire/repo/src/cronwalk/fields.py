"""Reads the five fields of a cron expression."""

from __future__ import annotations

from dataclasses import dataclass


class CronError(ValueError):
    """An expression is not one that cron would accept."""


@dataclass(frozen=True)
class FieldKind:
    """What may stand in one of the five places."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()  # the first one stands for `low`

    def number(self, text: str) -> int:
        """The value that a number or a name stands for.

        Raises:
            CronError: it is neither, or out of range.
        """
        if text.lower() in self.names:
            return self.low + self.names.index(text.lower())
        if not (text.isascii() and text.isdigit()):
            raise CronError(f"{self.name}: {text!r} is not a number")
        value = int(text)
        if not self.low <= value <= self.high:
            raise CronError(f"{self.name}: {value} is not between {self.low} and {self.high}")
        return value


MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY = FieldKind("day of month", 1, 31)
MONTH = FieldKind(
    "month", 1, 12, tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
)
WEEKDAY = FieldKind("day of week", 0, 7, tuple("sun mon tue wed thu fri sat".split()))


@dataclass(frozen=True)
class Field:
    """The values that a field allows."""

    values: frozenset[int]
    starred: bool  # begins with `*`: puts no restriction of its own on the day

    def __contains__(self, value: int) -> bool:
        return value in self.values

    def __iter__(self):
        return iter(sorted(self.values))


def parse_field(text: str, kind: FieldKind) -> Field:
    """Read one field.

    Raises:
        CronError: the text is not a field of that kind.
    """
    values: set[int] = set()
    for item in text.split(","):
        values.update(_parse_item(item, kind))
    if kind is WEEKDAY and 7 in values:
        values = values - {7} | {0}
    return Field(frozenset(values), text.startswith("*"))


def _parse_item(item: str, kind: FieldKind) -> range:
    span, slash, step_text = item.partition("/")
    step = 1
    if slash:
        if not (step_text.isascii() and step_text.isdigit()) or int(step_text) == 0:
            raise CronError(f"{kind.name}: {step_text!r} is not a step")
        step = int(step_text)
    if span == "*":
        return range(kind.low, kind.high + 1, step)
    first, dash, last = span.partition("-")
    start = kind.number(first)
    if dash:
        end = kind.number(last)
    else:
        end = kind.high if slash else start
    if end < start:
        raise CronError(f"{kind.name}: the range {span} runs backwards")
    return range(start, end + 1, step)
