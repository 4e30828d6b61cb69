"""The client: attempts, and waits between them."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from random import Random

from patiently.messages import Request, Response, Transport, TransportError
from patiently.policy import Policy
from patiently.retry_after import retry_after

_log = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Attempt:
    """How one sending of a request ended: one of `response` and `error` is there."""

    number: int
    response: Response | None = None
    error: TransportError | None = None

    def outcome(self) -> Response:
        """Return the response or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.response is not None
        return self.response


class Client:
    """Sends requests through a transport, again where a policy allows it."""

    def __init__(
        self,
        transport: Transport,
        policy: Policy | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = _utc_now,
        random: Random | None = None,
        observe: Callable[[Attempt, float], None] | None = None,
    ) -> None:
        """Put a client together.

        Args:
            transport: Sends a request once.
            policy: When to send again.
            sleep: Waits so many seconds.
            now: Tells the time, with a time zone.
            random: Where jitter comes from.
            observe: Told of each attempt that is followed by another, and of the wait in between.
        """
        self._transport = transport
        self._policy = policy or Policy()
        self._sleep = sleep
        self._now = now
        self._random = random or Random()
        self._observe = observe

    def send(self, request: Request) -> Response:
        """Send a request until it succeeds or the policy's patience ends.

        Raises:
            TransportError: The last attempt got no response.
        """
        started = self._now()
        attempt = self._attempt(request, 1)
        while request.repeatable and self._may_improve(attempt):
            wait = self._wait_after(attempt, started)
            if wait is None:
                break
            _log.info("%s %s: attempt %d failed, next in %.1f s", request.method, request.url, attempt.number, wait)
            if self._observe is not None:
                self._observe(attempt, wait)
            self._sleep(wait)
            attempt = self._attempt(request, attempt.number + 1)
        return attempt.outcome()

    def _attempt(self, request: Request, number: int) -> Attempt:
        try:
            return Attempt(number, response=self._transport(request))
        except TransportError as error:
            return Attempt(number, error=error)

    def _may_improve(self, attempt: Attempt) -> bool:
        if attempt.number >= self._policy.attempts:
            return False
        return attempt.response is None or attempt.response.status in self._policy.statuses

    def _wait_after(self, attempt: Attempt, started: datetime) -> float | None:
        """Return how long to wait before the next attempt, or None if it would be too long."""
        wait = self._policy.backoff(attempt.number, self._random)
        now = self._now()
        if attempt.response is not None:
            asked = retry_after(attempt.response, now)
            if asked is not None and asked > self._policy.max_retry_after:
                return None
            wait = max(wait, asked or 0.0)
        total = self._policy.total
        if total is not None and now + timedelta(seconds=wait) > started + timedelta(seconds=total):
            return None
        return wait
