"""The values that the cache is made of."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Cause(Enum):
    """Why an entry left the cache."""

    EXPIRED = "expired"
    EVICTED = "evicted"
    REPLACED = "replaced"
    DELETED = "deleted"


@dataclass(slots=True)
class Entry:
    """A cached value and how long it is good for.

    `ticket` names the one alarm, among those set for this key, that is meant for this entry.
    """

    value: Any
    deadline: float | None = None
    ticket: int | None = None


@dataclass(slots=True)
class Stats:
    """Counters since the cache was made."""

    hits: int = 0
    misses: int = 0
    removed: dict[Cause, int] = field(default_factory=lambda: dict.fromkeys(Cause, 0))

    @property
    def hit_rate(self) -> float:
        """Hits per lookup; 0.0 before the first lookup."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else 0.0
