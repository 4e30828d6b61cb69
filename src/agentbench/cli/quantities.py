"""Sizes, durations and rates as people write them on a command line: 20GB, 15m, 80%."""

import re
from datetime import timedelta

from agentbench.errors import UsageError

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kMGT]i?)?B", re.ASCII)
_SIZE_UNITS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?([smhdw]?)", re.ASCII)
_DURATION_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_LONGEST = timedelta(weeks=10_000)
_RATE = re.compile(r"(\d{1,3}(?:\.\d{1,9})?) ?(%?)", re.ASCII)


def parse_size(text: str) -> int:
    """Bytes from `500MB`, `1.5GB` (powers of 1000) or `20GiB` (of 1024).

    Raises:
        UsageError: it is not a size.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a size; write it like 500MB, 20GB or 20GiB")
    number, unit = found[1], found[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    return int(float(number) * base ** _SIZE_UNITS[unit.removesuffix("i")])


def format_size(size: int) -> str:
    """Bytes in the most readable unit: `1.2 GB`."""
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def parse_duration(text: str, *, bare_unit: str = "") -> timedelta:
    """A duration from `90s`, `15m`, `12h`, `30d` or `2w`.

    Args:
        text: The text.
        bare_unit: The unit of a number without one; if empty, these numbers are refused.

    Raises:
        UsageError: it is not a duration, or an extremely long one.
    """
    found = _DURATION.fullmatch(text)
    unit = (found[2] or bare_unit) if found is not None else ""
    if found is None or not unit:
        raise UsageError(f"{text!r} is not a duration; write it like 90s, 15m, 12h, 30d or 2w")
    number = float(found[1])
    if number > _LONGEST / _DURATION_UNITS[unit]:
        raise UsageError(f"{text!r} is longer than 10000w, the longest duration")
    return number * _DURATION_UNITS[unit]


def parse_rate(text: str, *, bare_is_percent: bool = False) -> float:
    """A rate between 0 and 1 from `80%` or `0.8`.

    Args:
        text: The text.
        bare_is_percent: Whether a number without a sign is a percentage.

    Raises:
        UsageError: it is not a rate.
    """
    found = _RATE.fullmatch(text)
    rate = float(found[1]) if found is not None else -1.0
    if found is not None and (found[2] or bare_is_percent):
        rate /= 100
    if not 0 <= rate <= 1:
        raise UsageError(f"{text!r} is not a rate; write it like 80%, from 0% to 100%")
    return rate
