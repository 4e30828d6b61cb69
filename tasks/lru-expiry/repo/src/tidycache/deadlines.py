"""Remembers which key wants attention when."""

import heapq
from collections.abc import Hashable, Iterator
from itertools import count


class Deadlines:
    """A queue of alarms. An alarm cannot be cancelled; whoever takes it out must check its ticket.

    Removing something from the middle of a heap is slow, so the cache leaves the alarms of
    entries that are gone where they are, and ignores them when they ring.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []
        self._tickets = count(1)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, when: float, key: Hashable) -> int:
        """Set an alarm and return the ticket that it will ring with."""
        ticket = next(self._tickets)
        heapq.heappush(self._heap, (when, ticket, key))
        return ticket

    def due(self, now: float) -> Iterator[tuple[Hashable, int]]:
        """Take out the alarms that have rung by now, earliest first, as (key, ticket)."""
        while self._heap and self._heap[0][0] <= now:
            _, ticket, key = heapq.heappop(self._heap)
            yield key, ticket

    def clear(self) -> None:
        """Forget all alarms. Tickets are not used again."""
        self._heap.clear()
