from datetime import datetime, timezone

import pytest

from patiently import Headers, Response, retry_after

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=timezone.utc)


def asked(value):
    return retry_after(Response(429, Headers({"retry-after": value})), NOON)


def test_a_response_need_not_ask():
    assert retry_after(Response(429), NOON) is None


def test_seconds_are_read():
    assert asked("0") == 0.0
    assert asked(" 90 ") == 90.0


def test_a_date_is_read():
    assert asked("Wed, 01 May 2024 12:02:00 GMT") == 120.0
    assert asked("Thu, 02 May 2024 00:00:00 GMT") == 43200.0


def test_a_date_that_has_passed_asks_for_nothing():
    assert asked("Wed, 01 May 2024 11:59:00 GMT") == 0.0


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "12 s"], ids=["empty", "word", "negative", "fraction", "unit"])
def test_what_is_neither_is_ignored(value):
    assert asked(value) is None
