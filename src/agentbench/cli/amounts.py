"""Sizes and ages as people write them on a command line."""

import re
from datetime import timedelta

from agentbench.errors import UsageError

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kMGT]i?)?B", re.ASCII)
_AGE = re.compile(r"(\d{1,6}) ?([mhdw])", re.ASCII)
_POWERS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
_SPANS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_size(text: str) -> int:
    """Bytes from `500MB`, `1.5GB` (powers of 1000) or `20GiB` (of 1024).

    Raises:
        UsageError: it is no size.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no size; write it like 500MB, 20GB or 20GiB")
    number, unit = found[1], found[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    return int(float(number) * base ** _POWERS[unit.removesuffix("i")])


def parse_age(text: str) -> timedelta:
    """A time from `90m`, `12h`, `30d` or `2w`.

    Raises:
        UsageError: it is no time.
    """
    found = _AGE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no age; write it like 12h, 30d or 2w")
    return int(found[1]) * _SPANS[found[2]]


def shown_size(size: int) -> str:
    """Bytes in the unit that reads best: `1.2 GB`."""
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
