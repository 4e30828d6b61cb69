"""What ends an attempt from outside: its run is cancelled, or its time as a whole is over."""

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event

_LOOK_EVERY = 0.1  # seconds; two sources cannot be waited for at once


class Cutoff(Event):
    """Is set once the run is cancelled or the attempt is late: what sandboxes take as `cancel`."""

    def __init__(self, run: Event, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._run = run
        self._clock = clock
        self._deadline = float("inf")
        self.limit: timedelta | None = None

    def begin(self, limit: timedelta) -> None:
        """Let the attempt's time run from now."""
        self.limit = limit
        self._deadline = self._clock() + limit.total_seconds()

    @property
    def is_late(self) -> bool:
        """Whether the attempt's own time is over, and nobody has cancelled the run."""
        return not self._run.is_set() and self._clock() >= self._deadline

    def is_set(self) -> bool:
        """Whether the attempt is to end."""
        return super().is_set() or self._run.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is to end, or for so many seconds; whether it is."""
        end = float("inf") if timeout is None else self._clock() + timeout
        while not self.is_set() and (left := end - self._clock()) > 0:
            self._run.wait(min(left, _LOOK_EVERY))
        return self.is_set()
