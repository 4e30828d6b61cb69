"""The Retry-After header."""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

from patiently.messages import Response

_SECONDS = re.compile(r"[0-9]+")


def retry_after(response: Response, now: datetime) -> float | None:
    """Return how many seconds a response asks to wait, or None where it does not ask.

    Args:
        response: The response.
        now: The current time, with a time zone.
    """
    value = response.headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    return _seconds_until(value, now)


def _seconds_until(date: str, now: datetime) -> float | None:
    """Return the seconds from now to a date, 0 for one that has passed, None for what is no date."""
    try:
        wait = parsedate_to_datetime(date) - now
    except (TypeError, ValueError):
        return None
    return max(wait.total_seconds(), 0.0)
