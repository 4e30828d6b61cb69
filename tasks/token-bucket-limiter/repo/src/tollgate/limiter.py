"""A bucket for each client, and a decorator."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any

from tollgate.bucket import AllOf, Clock, TokenBucket
from tollgate.rate import SECOND, Rate


class Throttled(Exception):
    """A call was turned down; `retry_after` is in seconds, rounded up."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many calls; try again in {retry_after} s")
        self.retry_after = retry_after


class Limiter:
    """Gives each key a bucket of its own. Safe to use from several threads.

    Args:
        rates: one rate, or several that hold together.
        burst: the capacity of the buckets; by default what each rate allows in one period.
        clock: the time in nanoseconds; must never go back.
    """

    def __init__(
        self, *rates: Rate, burst: int | None = None, clock: Clock = time.monotonic_ns
    ) -> None:
        if not rates:
            raise ValueError("at least one rate is needed")
        self._rates = rates
        self._burst = burst
        self._clock = clock
        self._buckets: dict[Hashable, AllOf] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._buckets)

    def allow(self, key: Hashable, cost: int = 1) -> bool:
        """Whether a request of that key may go ahead; if so, it is counted."""
        with self._lock:
            return self._bucket(key).take(cost)

    def remaining(self, key: Hashable) -> int:
        """How many requests of that key would go ahead right now."""
        with self._lock:
            return self._bucket(key).available

    def retry_after(self, key: Hashable, cost: int = 1) -> int:
        """Seconds, rounded up, until a request of that key would go ahead."""
        with self._lock:
            return -(-self._bucket(key).wait_ns(cost) // SECOND)

    def prune(self) -> int:
        """Forget the keys whose buckets are full, and so as good as new; how many there were."""
        with self._lock:
            idle = [key for key, bucket in self._buckets.items() if bucket.full]
            for key in idle:
                del self._buckets[key]
            return len(idle)

    def _bucket(self, key: Hashable) -> AllOf:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = AllOf([TokenBucket(rate, self._burst, self._clock) for rate in self._rates])
            self._buckets[key] = bucket
        return bucket


def limited(limiter: Limiter, key: Hashable = None) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: calls beyond the limit raise Throttled instead of going ahead.

    Functions that share a limiter and a key share the limit.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if not limiter.allow(key):
                raise Throttled(limiter.retry_after(key))
            return function(*args, **kwargs)

        return guarded

    return decorate
