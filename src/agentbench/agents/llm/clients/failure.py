"""What an error of a provider means for whoever asked: which kind it is, and when to ask again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agentbench.agents.gateway.provider_errors import failure_in
from agentbench.agents.llm.clients.interface import UnansweredError


def unanswered(
    status: int, body: object, message: str, headers: Mapping[str, str]
) -> UnansweredError:
    """An error that a provider told, as its response or in the middle of a stream.

    Args:
        status: Of HTTP; 200 where the error came in a stream.
        body: The error as JSON, if it is any.
        message: What to say of it where it is none.
        headers: Of the response, their names in small letters.
    """
    failure = failure_in(body if isinstance(body, dict) else {"error": message}, status=status)
    final = headers.get("x-should-retry") == "false"
    return UnansweredError(
        failure, retry_after=_retry_after(headers), may_retry=False if final else None
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, which may also be told in thousandths, or as a date."""
    for name, share in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers[name]) / share)
        except (KeyError, ValueError):
            continue
    try:
        date = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    zoned = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (zoned - datetime.now(UTC)).total_seconds())
