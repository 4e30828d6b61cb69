"""Stand-ins for the network and the clock."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

from patiently.messages import Request, Response, TransportError


class ScriptedTransport:
    """Gives prepared responses, or raises prepared errors, one a request."""

    def __init__(self, script: Iterable[Response | TransportError]) -> None:
        self._script = list(script)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Response:
        if len(self.requests) == len(self._script):
            raise AssertionError(f"request {len(self._script) + 1} is not in the script")
        step = self._script[len(self.requests)]
        self.requests.append(request)
        if isinstance(step, TransportError):
            raise step
        return step


class FakeTime:
    """A clock that only moves when somebody sleeps."""

    def __init__(self, start: datetime = datetime(2024, 5, 1, 12, 0, tzinfo=timezone.utc)) -> None:
        self._now = start
        self.sleeps: list[float] = []

    def now(self) -> datetime:
        """Return the time it is."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Note a wait and move the clock on."""
        if seconds < 0:
            raise ValueError(f"cannot sleep {seconds} s")
        self.sleeps.append(seconds)
        self._now += timedelta(seconds=seconds)
