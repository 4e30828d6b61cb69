"""Sets of numbers made of intervals, with exact open and closed ends."""

from spans.interval import Cut, Interval
from spans.notation import NotationError, parse, parse_set
from spans.sets import IntervalSet

__all__ = ["Cut", "Interval", "IntervalSet", "NotationError", "parse", "parse_set"]
