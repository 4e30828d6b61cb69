"""A connection and what the pool knows about it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

C = TypeVar("C")


@dataclass
class Entry(Generic[C]):
    """A connection with its times, in seconds on the pool's clock."""

    connection: C
    opened_at: float
    returned_at: float
    leases: int = 0

    def age(self, now: float) -> float:
        """Return the seconds since it was opened."""
        return now - self.opened_at

    def idle_for(self, now: float) -> float:
        """Return the seconds since it was given back."""
        return now - self.returned_at
