"""Bodies as providers and servers of models write them."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agentbench.models.interface import ModelErrorKind
from agentbench.models.interface import ModelErrorKind as Kind
from agentbench.models.provider_errors import failure_of_response, unanswered_error

CASES = [
    (
        429,
        {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}},
        Kind.RATE_LIMIT,
    ),
    (429, {"error": {"type": "insufficient_quota", "code": "insufficient_quota"}}, Kind.QUOTA),
    (
        400,
        {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}},
        Kind.QUOTA,
    ),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, Kind.QUOTA),
    (400, {"error": {"code": "context_length_exceeded"}}, Kind.CONTEXT_LENGTH),
    (
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens"},
        Kind.CONTEXT_LENGTH,
    ),
    (
        400,
        {
            "error": {
                "type": "exceed_context_size_error",
                "message": "the request exceeds the available context size",
            }
        },
        Kind.CONTEXT_LENGTH,
    ),
    (413, {"error": {"type": "request_too_large"}}, Kind.CONTEXT_LENGTH),
    (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, Kind.CONTEXT_LENGTH),
    (400, {"error": {"code": "content_filter"}}, Kind.REFUSAL),
    (
        400,
        {"error": {"code": "invalid_prompt", "message": "violates our usage policy"}},
        Kind.REFUSAL,
    ),
    (400, {"error": {"status": "INVALID_ARGUMENT", "message": "API key not valid."}}, Kind.AUTH),
    (403, {"error": {"type": "permission_error"}}, Kind.AUTH),
    (404, {"error": 'model "x" not found, try pulling it first'}, Kind.UNKNOWN_MODEL),
    (404, {"detail": "Not Found"}, Kind.UNKNOWN_MODEL),
    (400, {"error": {"message": "x is not a valid model ID"}}, Kind.MALFORMED),
    (400, {"error": {"message": "model x is not a valid one"}}, Kind.UNKNOWN_MODEL),
    (422, {"detail": [{"msg": "field required"}]}, Kind.MALFORMED),
    (408, {}, Kind.TIMEOUT),
    (504, {"error": {"status": "DEADLINE_EXCEEDED"}}, Kind.TIMEOUT),
    (
        503,
        {"error": {"status": "UNAVAILABLE", "message": "The model is overloaded."}},
        Kind.OVERLOADED,
    ),
    (529, {"error": {"type": "overloaded_error"}}, Kind.OVERLOADED),
    (
        500,
        {"error": {"type": "server_error", "message": "insufficient_quota of luck"}},
        Kind.SERVER_ERROR,
    ),
    (502, "<html>Bad Gateway</html>", Kind.SERVER_ERROR),
    (302, "", Kind.SERVER_ERROR),
    (200, {"error": {"type": "overloaded_error"}}, Kind.OVERLOADED),
    (200, {"error": {"code": 500, "message": "broken"}}, Kind.SERVER_ERROR),
]


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
def test_error_is_classified(status, body, kind) -> None:
    data = body if isinstance(body, str) else json.dumps(body)
    failure = failure_of_response(status, data.encode())
    assert (failure.kind, failure.status) == (kind, status)


def test_quota_per_minute_of_google_is_a_rate_limit() -> None:
    message = "You exceeded your current quota, please check your plan and billing details."
    error = {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}
    assert failure_of_response(429, json.dumps({"error": error}).encode()).kind is Kind.QUOTA
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"}
    error["details"] = [retry]
    assert failure_of_response(429, json.dumps({"error": error}).encode()).kind is Kind.RATE_LIMIT


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "words"}}', "words"),
        (b'{"error": "words"}', "words"),
        (b'{"detail": "words"}', "words"),
        (b"words", "words"),
        (b"\xff", "\ufffd"),
        (b'{"error": 5}', ""),
        (b"", ""),
    ],
)
def test_message_is_found_in_each_form(body: bytes, message: str) -> None:
    assert failure_of_response(400, body).message == message


def test_long_message_is_truncated() -> None:
    assert len(failure_of_response(400, b"x" * 10**6).message) < 1100


LIMITED = {"error": {"type": "rate_limit_error", "message": "slow down"}}


def told(headers=None, status=429, body=LIMITED):
    return unanswered_error(status, body, "no words", headers or {})


def test_failure_has_message_kind_and_status():
    failure = told().failure
    assert (failure.kind, failure.status, failure.message) == (
        ModelErrorKind.RATE_LIMIT,
        429,
        "slow down",
    )


@pytest.mark.parametrize("body", [None, "text", b"bytes", [1]])
def test_malformed_body_gives_message_of_library(body):
    assert told(body=body, status=500).failure.message == "no words"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, 0.0),
    ],
)
def test_retry_delay_is_read(headers, seconds):
    assert told(headers).retry_after == seconds


def test_retry_delay_may_be_a_date():
    at = format_datetime(datetime.now(UTC) + timedelta(minutes=5))
    assert 290 < told({"retry-after": at}).retry_after <= 300
    assert told({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}).retry_after == 0


def test_retry_header_decides():
    assert told().may_retry
    assert not told({"x-should-retry": "false"}).may_retry
    assert not told(status=401, body={"error": {"message": "bad key"}}).may_retry
