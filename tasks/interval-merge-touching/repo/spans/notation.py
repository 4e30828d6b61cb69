"""Reads intervals as people write them: `[1, 2)`, `(-inf, 0]`, `{5}`, `[1, 2) u {7}`."""

from __future__ import annotations

import re

from spans.interval import ABOVE, BELOW, Cut, Interval
from spans.sets import IntervalSet

_NUMBER = r"\s*([+-]?(?:inf|\d+(?:\.\d*)?|\.\d+))\s*"
_PAIR = re.compile(rf"([\[(]){_NUMBER},{_NUMBER}([\])])")
_POINT = re.compile(rf"\{{{_NUMBER}\}}")


class NotationError(ValueError):
    """A text is not an interval."""


def parse(text: str) -> Interval:
    """Read one interval.

    Raises:
        NotationError: the text is not an interval, or it is an empty one.
    """
    text = text.strip()
    if point := _POINT.fullmatch(text):
        return Interval.point(float(point[1]))
    pair = _PAIR.fullmatch(text)
    if pair is None:
        raise NotationError(f"not an interval: {text!r}")
    start = Cut(float(pair[2]), BELOW if pair[1] == "[" else ABOVE)
    end = Cut(float(pair[3]), ABOVE if pair[4] == "]" else BELOW)
    try:
        return Interval.between(start, end)
    except ValueError as error:
        raise NotationError(f"{text!r}: {error}") from error


def parse_set(text: str) -> IntervalSet:
    """Read intervals joined by `u`; `{}` is the empty set.

    Raises:
        NotationError: one of the parts is not an interval.
    """
    if text.strip() == "{}":
        return IntervalSet()
    return IntervalSet(parse(part) for part in re.split(r"\s+u\s+", text.strip()))
