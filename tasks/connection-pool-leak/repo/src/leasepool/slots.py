"""Who may hold a connection: the bookkeeping of a pool, and the only part of it with a lock."""

from collections.abc import Callable
from threading import Condition
from typing import Generic, TypeVar

from leasepool.entry import Entry
from leasepool.errors import PoolClosed, PoolTimeout

C = TypeVar("C")


class Slots(Generic[C]):
    """At most so many slots, each of them free, taken, or holding an idle connection.

    Whoever takes a slot owns it, and ends that with either `put` or `free`.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0
        self.waiting = 0
        self._idle: list[Entry[C]] = []
        self._closed = False
        self._changed = Condition()

    @property
    def idle(self) -> int:
        """How many slots hold an idle connection."""
        return len(self._idle)

    def take(self, timeout: float | None) -> Entry[C] | None:
        """Take a slot; return the idle connection in it, or None if it is empty.

        Raises:
            PoolClosed: No more slots are given.
            PoolTimeout: No slot became free in time.
        """
        with self._changed:
            self.waiting += 1
            try:
                in_time = self._changed.wait_for(self._any_to_take, timeout)
            finally:
                self.waiting -= 1
            if self._closed:
                raise PoolClosed("the pool is closed")
            if not in_time:
                raise PoolTimeout(f"all {self.limit} connections are leased, and none came back within {timeout} s")
            self.taken += 1
            return self._idle.pop() if self._idle else None

    def exchange(self) -> Entry[C] | None:
        """Return another idle connection for a slot that is taken already, or None if there is none."""
        with self._changed:
            if not self._idle:
                return None
            self._changed.notify()  # the slot that it was in is free now
            return self._idle.pop()

    def put(self, entry: Entry[C]) -> bool:
        """Give a slot back with an idle connection in it. Where the pool is closed, return False: it is not kept."""
        with self._changed:
            self.taken -= 1
            self._changed.notify()
            if self._closed:
                return False
            self._idle.append(entry)
            return True

    def free(self) -> None:
        """Give a slot back empty."""
        with self._changed:
            self.taken -= 1
            self._changed.notify()

    def withdraw(self, unwanted: Callable[[Entry[C]], bool]) -> list[Entry[C]]:
        """Take some idle connections out; their slots are free."""
        with self._changed:
            out = [entry for entry in self._idle if unwanted(entry)]
            self._idle = [entry for entry in self._idle if not any(entry is other for other in out)]
            self._changed.notify_all()
            return out

    def close(self) -> list[Entry[C]]:
        """Give no more slots, and return the idle connections."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            out, self._idle = self._idle, []
            return out

    def _any_to_take(self) -> bool:
        return self._closed or bool(self._idle) or self.taken + len(self._idle) < self.limit
