"""A circuit breaker: while something that all attempts need is away, none is started.

Attempts that began in an outage would all fail of it, use their retries up and be paid for. So they
are held back; the outage is said once, and they go on by themselves when it is over. Libraries for
circuit breakers make calls fail while the circuit is open; ours are to wait.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeVar

from agentbench.errors import OutageError, StorageError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LONGEST_BACK_OFF = 15  # seconds between two looks

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that every attempt needs."""

    fault: Callable[[], str | None]
    """Looks whether it is there; says what is wrong, if anything is."""
    patience: timedelta  # for how long attempts wait for it
    costly: bool = False  # looked at only after an attempt has failed of it


class CircuitBreaker:
    """Holds attempts back in an outage. Safe to use from several threads."""

    def __init__(
        self,
        needs: Sequence[Need] = (),
        *,
        cancel: Event,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._needs = needs
        self._cancel = cancel
        self._say = say
        self._lock = Lock()
        self._suspected = False
        self._over: OutageError | None = None

    def suspect(self) -> None:
        """Have everything looked at before the next attempt, whatever that costs."""
        self._suspected = True

    def require(self) -> None:
        """Return when all is there, at once as a rule, or when the run is cancelled.

        Raises:
            OutageError: something was away for longer than anybody waits.
        """
        with self._lock:  # whoever comes second waits for the first one's findings
            if self._over is not None:
                raise self._over
            suspected, self._suspected = self._suspected, False
            for need in self._needs:
                if suspected or not need.costly:
                    self._await(need)

    def written(self, write: Callable[[], T]) -> T:
        """Write something; where the disk refuses it, once more when there is room again.

        Raises:
            StorageError: the disk refuses it although there is room.
            OutageError: there was no room for longer than anybody waits.
        """
        try:
            return write()
        except StorageError:
            self.require()
            return write()

    def _await(self, need: Need) -> None:
        fault = need.fault()
        if fault is None or self._cancel.is_set():
            return
        began = time.monotonic()
        if need.patience:
            longest = _minutes(need.patience)
            self._say(f"paused: {fault}; it goes on by itself, or ends in {longest} (Ctrl-C: now)")
        last = self._looked_again(need)
        if last is None:
            self._say(f"going on after {time.monotonic() - began:.0f} s")
        elif not self._cancel.is_set():
            self._over = OutageError(f"{last}; `agentbench resume` goes on when that is mended")
            raise self._over

    def _looked_again(self, need: Need) -> str | None:
        import tenacity  # here: outages are rare, and a start need not wait for it

        patience = tenacity.stop_after_delay(need.patience.total_seconds())
        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(patience, tenacity.stop_when_event_set(self._cancel)),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=_LONGEST_BACK_OFF),
            retry=tenacity.retry_if_result(bool),
            retry_error_callback=_last_result,
            sleep=tenacity.sleep_using_event(self._cancel),
        )
        last: str | None = retrying(need.fault)
        return last


def _last_result(state: "RetryCallState") -> str | None:
    assert state.outcome is not None
    last: str | None = state.outcome.result()
    return last


def _minutes(patience: timedelta) -> str:
    seconds = patience.total_seconds()
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
