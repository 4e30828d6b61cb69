"""Waiting without bets on the speed of the machine: for an event, or with a limit that grows."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

HANG_SECONDS = 120.0
"""After this long an event counts as one that never comes. No test passes or fails by its value."""

HANGS_OF_XDIST = (60.0, 60.0, 300.0)
"""Limits for a run with pytest-xdist, which now and then does not end after its last test.

Its issues 60 and 872 (open in August 2025) tell of that. A run that did not end is repeated.
"""

_POLL_SECONDS = 0.02
_LIMITS_SECONDS = (2.0, 10.0, 60.0)


def wait_until(happened: Callable[[], object], *, within: float = HANG_SECONDS) -> None:
    """Poll until `happened` returns something true.

    Raises:
        AssertionError: It did not within so many seconds.
    """
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, f"nothing happened within {within} s"
        time.sleep(_POLL_SECONDS)  # the one place that polls: processes report to nobody


def with_growing_limit(
    run: Callable[[float], T],
    has_begun: Callable[[T], bool],
    limits: Iterable[float] = _LIMITS_SECONDS,
) -> T:
    """Run something that its time limit must end, with a limit under which it at least began.

    A test of a time limit needs a command that got somewhere before the limit ended it. How long
    that takes depends on the machine. So the first limit is short, and a run in which the
    command had not begun yet is repeated with a longer one. The last result is returned.

    Args:
        run: Runs the command with a limit in seconds.
        has_begun: Whether the command got as far as the test needs.
        limits: The limits to try, in seconds, shortest first.

    Raises:
        AssertionError: The command did not begin under any limit.
    """
    for limit in limits:
        result = run(limit)
        if has_begun(result):
            return result
    raise AssertionError(f"the command did not begin within {limit} s")
