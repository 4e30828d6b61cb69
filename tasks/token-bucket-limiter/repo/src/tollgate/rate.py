"""How much per how long."""

from __future__ import annotations

import re
from dataclasses import dataclass

SECOND = 1_000_000_000

UNITS = {
    "ms": SECOND // 1000,
    "s": SECOND,
    "sec": SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
    "hour": 3600 * SECOND,
    "day": 86400 * SECOND,
}

_RATE = re.compile(r"\s*(\d+)\s*/\s*(\d*)\s*([a-z]+)\s*")


@dataclass(frozen=True)
class Rate:
    """`count` tokens in every `period_ns` nanoseconds."""

    count: int
    period_ns: int = SECOND

    def __post_init__(self) -> None:
        if self.count < 1 or self.period_ns < 1:
            raise ValueError(f"a rate needs a count and a period above 0: {self}")

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Read `10/s`, `100/min`, `5/200ms` and the like.

        Raises:
            ValueError: it is not a rate.
        """
        found = _RATE.fullmatch(text.lower())
        if found is None or found[3] not in UNITS:
            raise ValueError(f"not a rate: {text!r}; write one like 10/s or 5/200ms")
        return cls(int(found[1]), int(found[2] or 1) * UNITS[found[3]])
