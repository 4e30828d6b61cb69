"""Ends a search in time, wherever it is."""

from __future__ import annotations

import signal

_AGAIN = 0.25  # seconds: what runs may have swallowed the first


class OverError(BaseException):
    """The time is over; not an Exception, so that few swallow it."""


class Alarm:
    """Raises `OverError` when the time is over, and again until it is turned off.

    Where that happens in a callback of C code, as of z3's, another error may come out, or none:
    what ends after it `rang` has not ended by itself.
    """

    def __init__(self) -> None:
        """It is off."""
        self.rang = False

    def set(self, seconds: float) -> None:
        """Ring in so many seconds."""
        self.rang = False
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, max(0.01, seconds), _AGAIN)

    def off(self) -> None:
        """Be quiet."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, _number: int, _frame: object) -> None:
        self.rang = True
        raise OverError
