"""Buckets that fill up with time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tollgate.rate import Rate

Clock = Callable[[], int]


class TokenBucket:
    """Holds up to `capacity` tokens, and gets new ones at a rate.

    Args:
        rate: how fast tokens come in.
        capacity: how many it holds; by default what comes in during one period.
        clock: the time in nanoseconds; must never go back.
    """

    def __init__(
        self, rate: Rate, capacity: int | None = None, clock: Clock = time.monotonic_ns
    ) -> None:
        self.rate = rate
        self.capacity = rate.count if capacity is None else capacity
        if self.capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._clock = clock
        self._tokens = self.capacity
        self._filled_at = clock()

    @property
    def available(self) -> int:
        """How many tokens are there now."""
        self._refill()
        return self._tokens

    @property
    def full(self) -> bool:
        """Whether no more tokens fit."""
        return self.available == self.capacity

    def take(self, tokens: int = 1) -> bool:
        """Take tokens out if there are enough of them; all or nothing.

        Raises:
            ValueError: so many can never be there at once.
        """
        self._check(tokens)
        if self.available < tokens:
            return False
        self._tokens -= tokens
        return True

    def put_back(self, tokens: int = 1) -> None:
        """Return tokens that were taken but not used; what does not fit is lost."""
        self._refill()
        self._tokens = min(self.capacity, self._tokens + tokens)

    def wait_ns(self, tokens: int = 1) -> int:
        """How long until that many tokens are there, if nobody takes any; 0 if they are.

        Raises:
            ValueError: so many can never be there at once.
        """
        self._check(tokens)
        missing = tokens - self.available
        if missing <= 0:
            return 0
        return _divide_up(missing * self.rate.period_ns, self.rate.count)

    def _refill(self) -> None:
        """Bring the number of tokens up to date."""
        now = self._clock()
        gained = (now - self._filled_at) * self.rate.count // self.rate.period_ns
        self._tokens = min(self.capacity, self._tokens + gained)
        self._filled_at = now

    def _check(self, tokens: int) -> None:
        if not 1 <= tokens <= self.capacity:
            raise ValueError(f"tokens must be between 1 and {self.capacity}, not {tokens}")


class AllOf:
    """Several buckets that are only taken from together."""

    def __init__(self, buckets: Sequence[TokenBucket]) -> None:
        if not buckets:
            raise ValueError("at least one bucket is needed")
        self._buckets = tuple(buckets)

    @property
    def available(self) -> int:
        """How many tokens could be taken now."""
        return min(bucket.available for bucket in self._buckets)

    @property
    def full(self) -> bool:
        """Whether every bucket is full."""
        return all(bucket.full for bucket in self._buckets)

    def take(self, tokens: int = 1) -> bool:
        """Take tokens from every bucket, or from none.

        Raises:
            ValueError: one of the buckets never holds so many.
        """
        done: list[TokenBucket] = []
        for bucket in self._buckets:
            if not bucket.take(tokens):
                for other in done:
                    other.put_back(tokens)
                return False
            done.append(bucket)
        return True

    def wait_ns(self, tokens: int = 1) -> int:
        """How long until `take` succeeds, if nobody takes any."""
        return max(bucket.wait_ns(tokens) for bucket in self._buckets)


def _divide_up(amount: int, by: int) -> int:
    """Whole-number division, rounded up."""
    return -(-amount // by)
