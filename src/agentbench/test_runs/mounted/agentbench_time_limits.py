"""Limits of the time that recording takes, because it runs methods of the code under test.

A property of a symbolic matrix can compute for an hour. An alarm interrupts it where Python code
runs; C code that does not return is ended with the whole run, by the sandbox's own limit.
Standard library only; Python 3.6 to 3.14.
"""

import signal
import time
from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    T = TypeVar("T")

PROPERTY = 0.05  # seconds of processor time, as all of these
METHOD = 1.0
_RECORDING = 5.0
_RUN = 60.0  # of all recordings
_WAITING = 10  # times as long as a limit, on a clock: for code that waits, or on a busy machine
_TOLERANCE = 0.001


class Late:
    """Stands for the result of a call that took too long."""


class _LateError(BaseException):
    """A limit is exceeded; no handler of the project's for an `Exception` stops it."""


class TimeLimits:
    """Interrupts calls with an alarm, and gives the alarm of the code under test back."""

    # Kept from before the project's code ran: a test may well patch these.
    _signal, _setitimer = staticmethod(signal.signal), staticmethod(signal.setitimer)
    _clock = staticmethod(time.monotonic)
    _processor_time = staticmethod(getattr(time, "thread_time", time.process_time))

    def __init__(self, share: int = 1) -> None:
        self._share = share  # divides all limits
        self._left = _RUN / share
        self._calls = ()  # type: tuple[tuple[float, float], ...]  # when each running one is late
        self._thread = 0  # the one whose calls these are

    def recording(self, call: "Callable[[], T]") -> "T | type[Late]":
        """The result of making one recording, which counts for the limit of all; or `Late`."""
        start, clock = self._processor_time(), self._clock()
        try:
            old = self._signal(signal.SIGALRM, self._tick)
        except ValueError:  # in another thread; its recordings are limited from outside only
            return call()
        timer = self._setitimer(signal.ITIMER_REAL, 0)
        self._thread = get_ident()
        try:
            return self._limited(min(self._left, _RECORDING / self._share), call)
        finally:
            self._left -= max(self._processor_time() - start, 0)
            self._setitimer(signal.ITIMER_REAL, 0)
            # Without a handler of Python's there is nothing to go back to.
            self._signal(signal.SIGALRM, signal.SIG_DFL if old is None else old)
            if timer[0]:
                passed = self._clock() - clock
                self._setitimer(signal.ITIMER_REAL, max(timer[0] - passed, 0.001), timer[1])

    def method(self, call: "Callable[[], T]") -> "T | type[Late]":
        """The result of a method that a test could call; or `Late`."""
        return self._limited(METHOD / self._share, call) if self._is_limited else call()

    def read(self, call: "Callable[[], T]") -> "T | type[Late]":
        """The value of a property, which no test may ever read; or `Late`."""
        return self._limited(PROPERTY / self._share, call) if self._is_limited else Late

    @property
    def _is_limited(self) -> bool:
        return bool(self._calls) and self._thread == get_ident()

    def _limited(self, seconds: float, call: "Callable[[], T]") -> "T | type[Late]":
        if seconds <= 0:
            return Late
        outer = self._calls
        own = self._processor_time() + seconds, self._clock() + _WAITING * seconds
        try:
            try:
                self._calls = (*outer, own)
                self._setitimer(signal.ITIMER_REAL, seconds, PROPERTY / self._share)
                return call()
            finally:
                self._calls = outer
        except _LateError as error:
            self._calls = outer  # the alarm may have interrupted the line above
            if outer and error.args[0] is not own:
                raise
            return Late

    def _tick(self, _signum: int, _frame: "FrameType | None") -> None:
        now, clock = self._processor_time() + _TOLERANCE, self._clock()
        for call in self._calls:
            if now >= call[0] or clock >= call[1]:
                raise _LateError(call)
