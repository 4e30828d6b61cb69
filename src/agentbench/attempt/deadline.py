"""The time limit of a whole attempt, as the event that cancels its sandboxes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event

_POLL = 0.1  # seconds, since no call waits for two events


class AttemptDeadline(Event):
    """The `cancel` event of an attempt's sandboxes: set if it is late or the run is cancelled."""

    def __init__(
        self, run: Event, limit: timedelta, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """A limit that begins now.

        Args:
            run: Set when the run is cancelled.
            limit: How long the attempt may take, without the time while it is paused.
            clock: Gives seconds.
        """
        super().__init__()
        self.limit = limit
        self._run = run
        self._clock = clock
        self._deadline = clock() + limit.total_seconds()
        self._is_paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of the block: what is done in it serves other attempts, too."""
        began, self._is_paused = self._clock(), True
        try:
            yield
        finally:
            self._deadline += self._clock() - began
            self._is_paused = False

    def extend(self, seconds: float) -> None:
        self._deadline += seconds

    @property
    def is_late(self) -> bool:
        """Whether the attempt's own time is over and the run is not cancelled."""
        is_over = not self._is_paused and self._clock() >= self._deadline
        return is_over and not self._run.is_set()

    def is_set(self) -> bool:
        return super().is_set() or self._run.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the attempt has to end, or for some seconds; returns whether it has to end."""
        end = float("inf") if timeout is None else self._clock() + timeout
        while not self.is_set() and (remaining := end - self._clock()) > 0:
            self._run.wait(min(remaining, _POLL))
        return self.is_set()
