"""The pool itself."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from leasepool.entry import Entry
from leasepool.hooks import Hooks
from leasepool.slots import Slots
from leasepool.stats import Stats

C = TypeVar("C")
_log = logging.getLogger(__name__)


class Pool(Generic[C]):
    """Leases connections to threads and keeps them in between."""

    def __init__(
        self,
        hooks: Hooks[C],
        *,
        max_size: int = 10,
        check_after: float = 0.0,
        max_age: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a pool; no connection is opened before one is asked for.

        Args:
            hooks: How connections are handled.
            max_size: The most connections there can be.
            check_after: Seconds for which a connection that was given back is trusted unchecked.
            max_age: Seconds after which a connection is not leased again.
            clock: Seconds that only grow.
        """
        if max_size < 1:
            raise ValueError(f"max_size is {max_size}; give 1 or more")
        self._hooks = hooks
        self._slots: Slots[C] = Slots(max_size)
        self._check_after = check_after
        self._max_age = max_age
        self._clock = clock
        self._opened = 0
        self._closed = 0

    @contextmanager
    def lease(self, timeout: float | None = None) -> Iterator[C]:
        """Lend a connection for the length of a `with` block.

        Raises:
            PoolClosed: The pool is closed.
            PoolTimeout: No connection came back in time.
        """
        entry = self._acquire(timeout)
        try:
            yield entry.connection
        finally:
            self._release(entry)

    def stats(self) -> Stats:
        """Return the state of the pool in numbers."""
        slots = self._slots
        return Stats(slots.taken, slots.idle, slots.waiting, self._opened, self._closed)

    def prune(self, seconds: float) -> int:
        """Close the connections that have been idle for longer, and return how many they were."""
        now = self._clock()
        old = self._slots.withdraw(lambda entry: entry.idle_for(now) > seconds)
        for entry in old:
            self._close(entry)
        return len(old)

    def close(self) -> None:
        """Close the idle connections now and the leased ones as they come back."""
        for entry in self._slots.close():
            self._close(entry)

    def __enter__(self) -> "Pool[C]":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _acquire(self, timeout: float | None) -> Entry[C]:
        entry = self._slots.take(timeout)
        while entry is not None and not self._is_usable(entry):
            self._close(entry)
            entry = self._slots.exchange()
        if entry is None:
            entry = self._open()
        entry.leases += 1
        return entry

    def _is_usable(self, entry: Entry[C]) -> bool:
        """Whether an idle connection may be leased."""
        now = self._clock()
        if self._max_age is not None and entry.age(now) > self._max_age:
            return False
        if entry.idle_for(now) < self._check_after:
            return True
        return bool(self._hooks.check(entry.connection))

    def _open(self) -> Entry[C]:
        """Open a connection for a slot that is taken; if that fails, the slot is free again."""
        try:
            connection = self._hooks.open()
        except BaseException:
            self._slots.free()
            raise
        self._opened += 1
        now = self._clock()
        return Entry(connection, opened_at=now, returned_at=now)

    def _release(self, entry: Entry[C]) -> None:
        """Take a connection back, fit for the next lease or closed."""
        try:
            self._hooks.reset(entry.connection)
        except Exception:
            _log.warning("a connection could not be reset and is closed", exc_info=True)
            self._drop(entry)
            return
        except BaseException:
            self._drop(entry)
            raise
        entry.returned_at = self._clock()
        if not self._slots.put(entry):
            self._close(entry)

    def _drop(self, entry: Entry[C]) -> None:
        """Close a connection and give its slot back."""
        try:
            self._close(entry)
        finally:
            self._slots.free()

    def _close(self, entry: Entry[C]) -> None:
        self._closed += 1
        try:
            self._hooks.close(entry.connection)
        except Exception:
            _log.warning("a connection could not be closed", exc_info=True)
