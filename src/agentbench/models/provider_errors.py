"""Classifies the errors of providers, and finds out when to retry."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models.conversation import UnansweredError
from agentbench.models.interface import ModelErrorKind, ModelFailure

_MESSAGE_LIMIT = 1000  # characters

# The first entry that matches the type, code or status, or the message, wins.
_KIND_BY_WORDS = {
    ModelErrorKind.CONTEXT_LENGTH: (
        r"context_length_exceeded|exceed_context_size|request_too_large|prompt is too long"
        r"|maximum context length|exceeds? the (available )?context|context window"
        r"|token count .{0,40}exceeds|input is too long"
    ),
    ModelErrorKind.REFUSAL: r"content_filter|content_policy|invalid_prompt|usage polic",
    ModelErrorKind.QUOTA: (
        r"insufficient_quota|billing_error|credit balance|exceeded your (current )?quota"
        r"|insufficient (credits|balance|funds)"
    ),
    ModelErrorKind.AUTH: (
        r"invalid_api_key|authentication_error|permission_error|api key not valid"
        r"|api_key_invalid|unauthenticated|permission_denied"
    ),
    ModelErrorKind.UNKNOWN_MODEL: (
        r"model_not_found|not_found_error"
        r"|model.{0,80}(not found|does not exist|is not a valid|not supported)"
    ),
    ModelErrorKind.OVERLOADED: r"overloaded|server_is_overloaded",
    ModelErrorKind.RATE_LIMIT: r"rate_limit|resource_exhausted",
}
_KIND_BY_STATUS = {
    401: ModelErrorKind.AUTH,
    402: ModelErrorKind.QUOTA,
    403: ModelErrorKind.AUTH,
    404: ModelErrorKind.UNKNOWN_MODEL,
    408: ModelErrorKind.TIMEOUT,
    413: ModelErrorKind.CONTEXT_LENGTH,
    429: ModelErrorKind.RATE_LIMIT,
    503: ModelErrorKind.OVERLOADED,
    504: ModelErrorKind.TIMEOUT,
    529: ModelErrorKind.OVERLOADED,
}
# And above: its text says little about the request.
_SERVER_ERRORS_FROM = 500
_DECIDED_BY_STATUS = frozenset({401, 408, 503, 504, 529})


def failure_of_response(status: int, body: bytes) -> ModelFailure:
    """The content of an error answer."""
    content = body.decode("utf-8", "replace")
    return failure_of_body(json_object(content) or {"error": content}, status=status)


def failure_of_body(body: JsonObject, *, status: int) -> ModelFailure:
    """The content of an error's JSON; in a stream the status is 200."""
    error = body.get("error")
    inner: JsonObject = error if isinstance(error, dict) else body
    message = _message(error, body)
    words = " ".join(str(inner.get(name, "")) for name in ("type", "code", "status"))
    words += " ".join(f" {detail.get('reason')}" for detail in objects(inner.get("details")))
    kind = _kind(status, f"{words} {message}".lower())
    # With a quota error that is a rate limit, Google says when to retry.
    if kind is ModelErrorKind.QUOTA and any(
        "RetryInfo" in str(detail.get("@type")) for detail in objects(inner.get("details"))
    ):
        kind = ModelErrorKind.RATE_LIMIT
    return ModelFailure(kind=kind, status=status, message=message)


def _kind(status: int, message: str) -> ModelErrorKind:
    if status in _DECIDED_BY_STATUS:
        return _KIND_BY_STATUS[status]
    if status < _SERVER_ERRORS_FROM:
        for kind, words in _KIND_BY_WORDS.items():
            if re.search(words, message):
                return kind
        if status >= 400:
            return _KIND_BY_STATUS.get(status, ModelErrorKind.MALFORMED)
    return ModelErrorKind.SERVER_ERROR


def _message(error: object, body: JsonObject) -> str:
    for holder in (error, body):
        if isinstance(holder, str):
            return text(holder, _MESSAGE_LIMIT)
        if isinstance(holder, dict):
            for name in ("message", "detail"):
                if isinstance(holder.get(name), str):
                    return text(holder[name], _MESSAGE_LIMIT)
    return ""


def unanswered_error(
    status: int, body: object, message: str, headers: Mapping[str, str]
) -> UnansweredError:
    """The failure for a provider's error, from a response or from a stream (with status 200).

    Args:
        status: The HTTP status; 200 for an error in a stream.
        body: The error's JSON, if it has any.
        message: The message for an error without JSON.
        headers: The response's headers, with names in lower case.
    """
    failure = failure_of_body(body if isinstance(body, dict) else {"error": message}, status=status)
    may_retry = False if headers.get("x-should-retry") == "false" else None
    return UnansweredError(failure, retry_after=_retry_after(headers), may_retry=may_retry)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The delay in seconds, from a header in seconds, in milliseconds or with a date."""
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
