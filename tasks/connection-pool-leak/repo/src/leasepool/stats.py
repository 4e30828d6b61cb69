"""The state of a pool in numbers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """Connections by what they are doing, threads that wait, and totals."""

    leased: int
    idle: int
    waiting: int
    opened: int
    closed: int

    @property
    def size(self) -> int:
        """Leased and idle connections together."""
        return self.leased + self.idle
