"""The cache itself."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from .deadlines import Deadlines
from .model import Cause, Entry, Stats

Clock = Callable[[], float]
Listener = Callable[[Hashable, Any, Cause], None]

_DEFAULT: Any = object()


class Cache:
    """A mapping that holds at most `maxsize` entries, each for a limited time.

    Args:
        maxsize: how many live entries fit.
        ttl: seconds that an entry lives; None for ever.
        sliding: whether every hit gives the entry a new deadline.
        clock: returns the time in seconds; must never go back.
        on_remove: called with key, value and cause after an entry has left.
    """

    def __init__(
        self,
        maxsize: int,
        ttl: float | None = None,
        *,
        sliding: bool = False,
        clock: Clock = time.monotonic,
        on_remove: Listener | None = None,
    ) -> None:
        if maxsize < 1:
            raise ValueError(f"maxsize must be at least 1, not {maxsize}")
        _check_ttl(ttl)
        self.maxsize = maxsize
        self.stats = Stats()
        self._ttl = ttl
        self._sliding = sliding
        self._clock = clock
        self._on_remove = on_remove
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()  # least recently used first
        self._deadlines = Deadlines()

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value of a key, which counts as a use of it; the default if there is none."""
        entry = self._live(key)
        if entry is None:
            self.stats.misses += 1
            return default
        self.stats.hits += 1
        self._entries.move_to_end(key)
        if self._sliding and entry.deadline is not None:
            self._postpone(key, entry, self._ttl)
        return entry.value

    def peek(self, key: Hashable, default: Any = None) -> Any:
        """Like `get`, but it does not count as a use and leaves the statistics alone."""
        entry = self._live(key)
        return default if entry is None else entry.value

    def set(self, key: Hashable, value: Any, ttl: float | None = _DEFAULT) -> None:
        """Store a value as the most recently used entry.

        Raises:
            ValueError: ttl is not above 0.
        """
        ttl = self._ttl if ttl is _DEFAULT else ttl
        _check_ttl(ttl)
        self._expire()
        if key in self._entries:
            self._remove(key, Cause.REPLACED)
        while len(self._entries) >= self.maxsize:
            self._remove(next(iter(self._entries)), Cause.EVICTED)
        entry = Entry(value)
        if ttl is not None:
            entry.deadline = self._clock() + ttl
            entry.ticket = self._deadlines.add(entry.deadline, key)
        self._entries[key] = entry

    def touch(self, key: Hashable, ttl: float | None = _DEFAULT) -> bool:
        """Give an entry a new deadline, counted from now; False if there is no such entry.

        Raises:
            ValueError: ttl is not above 0.
        """
        ttl = self._ttl if ttl is _DEFAULT else ttl
        _check_ttl(ttl)
        entry = self._live(key)
        if entry is None:
            return False
        self._entries.move_to_end(key)
        self._postpone(key, entry, ttl)
        return True

    def remaining(self, key: Hashable) -> float | None:
        """Seconds until an entry's deadline; None if it has none.

        Raises:
            KeyError: there is no such entry.
        """
        entry = self._live(key)
        if entry is None:
            raise KeyError(key)
        return None if entry.deadline is None else entry.deadline - self._clock()

    def delete(self, key: Hashable) -> bool:
        """Remove an entry; False if there is none."""
        if self._live(key) is None:
            return False
        self._remove(key, Cause.DELETED)
        return True

    def clear(self) -> None:
        """Remove everything."""
        self._expire()
        for key in list(self._entries):
            self._remove(key, Cause.DELETED)
        self._deadlines.clear()

    def __contains__(self, key: Hashable) -> bool:
        return self._live(key) is not None

    def __len__(self) -> int:
        self._expire()
        return len(self._entries)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, least recently used first."""
        self._expire()
        return iter(list(self._entries))

    def _live(self, key: Hashable) -> Entry | None:
        self._expire()
        return self._entries.get(key)

    def _postpone(self, key: Hashable, entry: Entry, ttl: float | None) -> None:
        """Move an entry's deadline to `ttl` seconds from now."""
        if ttl is None:
            entry.deadline = None
            return
        entry.deadline = self._clock() + ttl
        self._deadlines.add(entry.deadline, key)

    def _expire(self) -> None:
        """Remove the entries whose deadline has come."""
        for key, ticket in self._deadlines.due(self._clock()):
            entry = self._entries.get(key)
            if entry is not None and entry.ticket == ticket:
                self._remove(key, Cause.EXPIRED)

    def _remove(self, key: Hashable, cause: Cause) -> None:
        entry = self._entries.pop(key)
        self.stats.removed[cause] += 1
        if self._on_remove is not None:
            self._on_remove(key, entry.value, cause)


def _check_ttl(ttl: float | None) -> None:
    if ttl is not None and not ttl > 0:
        raise ValueError(f"ttl must be above 0, not {ttl}")
