from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agentbench.models.interface import ModelErrorKind
from agentbench.models.provider_errors import unanswered_error

LIMITED = {"error": {"type": "rate_limit_error", "message": "slow down"}}


def told(headers=None, status=429, body=LIMITED):
    return unanswered_error(status, body, "no words", headers or {})


def test_the_providers_words_are_kept_with_kind_and_status():
    failure = told().failure
    assert (failure.kind, failure.status, failure.message) == (
        ModelErrorKind.RATE_LIMIT,
        429,
        "slow down",
    )


@pytest.mark.parametrize("body", [None, "text", b"bytes", [1]])
def test_a_body_that_is_no_object_is_told_by_the_librarys_message(body):
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
def test_when_to_ask_again_is_read(headers, seconds):
    assert told(headers).retry_after == seconds


def test_when_to_ask_again_may_be_a_date():
    at = format_datetime(datetime.now(UTC) + timedelta(minutes=5))
    assert 290 < told({"retry-after": at}).retry_after <= 300
    assert told({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}).retry_after == 0


def test_the_service_has_the_last_word_on_whether_to_ask_again():
    assert told().may_retry
    assert not told({"x-should-retry": "false"}).may_retry
    assert not told(status=401, body={"error": {"message": "bad key"}}).may_retry
