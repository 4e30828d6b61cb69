"""How often and how long to wait."""

from dataclasses import dataclass
from random import Random

_STATUSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Policy:
    """Limits of the client's patience. Times are in seconds."""

    attempts: int = 4
    base: float = 0.5
    cap: float = 30.0
    jitter: bool = True
    total: float | None = None
    max_retry_after: float = 120.0
    statuses: frozenset[int] = _STATUSES

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; give 1 or more")
        if not 0 <= self.base <= self.cap:
            raise ValueError(f"base is {self.base} and cap is {self.cap}; 0 <= base <= cap is wanted")

    def backoff(self, retry: int, random: Random) -> float:
        """Return the wait before a retry, the first being number 1."""
        highest = min(self.cap, self.base * 2 ** (retry - 1))
        return random.uniform(0, highest) if self.jitter else highest
