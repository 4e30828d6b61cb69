"""Turns columns of text into columns of values."""

import re
from collections.abc import Callable, Sequence
from typing import Any

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TRUTH = {"true": True, "false": False}

Converter = Callable[[str], Any]


def converter_for(values: Sequence[str]) -> Converter:
    """The strictest conversion that fits all the values of a column; empty values fit any."""
    filled = [value for value in values if value]
    if filled and all(map(_INTEGER.fullmatch, filled)):
        return int
    # A leading zero means a code, such as a postal code, and not a number.
    if filled and all(_NUMBER.fullmatch(v) and not re.match(r"[+-]?0\d", v) for v in filled):
        return float
    if filled and all(value.lower() in _TRUTH for value in filled):
        return lambda value: _TRUTH[value.lower()]
    return str


def convert_rows(rows: Sequence[Sequence[str]]) -> list[list[Any]]:
    """Convert each column as a whole; empty values become None."""
    width = max(map(len, rows), default=0)
    columns = [[row[i] for row in rows if i < len(row)] for i in range(width)]
    converters = [converter_for(column) for column in columns]
    return [
        [convert(value) if value else None for value, convert in zip(row, converters)]
        for row in rows
    ]
