import pytest

from patiently import Client, Headers, Policy, Request, Response, TransportError
from patiently.testing import FakeTime, ScriptedTransport

GET = Request("GET", "https://api.example/orders")
OK = Response(200, body=b"[]")
BUSY = Response(503)


def busy(value):
    return Response(503, Headers({"Retry-After": value}))


def test_a_success_is_returned_at_once(bench):
    ready = bench([OK])
    assert ready.send(GET) is OK
    assert ready.sleeps == []


def test_waits_double(bench):
    ready = bench([BUSY, BUSY, BUSY, OK])
    assert ready.send(GET) is OK
    assert ready.sleeps == [0.5, 1.0, 2.0]


def test_waits_end_at_the_cap(bench):
    ready = bench([BUSY] * 4 + [OK], attempts=5, base=2.0, cap=5.0)
    assert ready.send(GET) is OK
    assert ready.sleeps == [2.0, 4.0, 5.0, 5.0]


def test_jitter_stays_between_zero_and_the_highest(bench):
    ready = bench([BUSY] * 9 + [OK], attempts=10, base=1.0, cap=4.0, jitter=True)
    ready.send(GET)
    assert all(0 <= wait <= highest for wait, highest in zip(ready.sleeps, [1, 2, 4, 4, 4, 4, 4, 4, 4]))
    assert len(set(ready.sleeps)) == 9


def test_the_last_response_is_returned_when_attempts_run_out(bench):
    last = Response(502)
    ready = bench([BUSY, TransportError("reset"), last], attempts=3)
    assert ready.send(GET) is last


def test_the_last_error_is_raised_when_attempts_run_out(bench):
    ready = bench([BUSY, TransportError("first"), TransportError("second")], attempts=3)
    with pytest.raises(TransportError, match="second"):
        ready.send(GET)


def test_an_error_of_another_kind_is_not_caught():
    def broken(request):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        Client(broken, sleep=FakeTime().sleep).send(GET)


def test_a_client_error_is_not_sent_again(bench):
    missing = Response(404)
    assert bench([missing]).send(GET) is missing


def test_a_post_is_not_sent_again(bench):
    assert bench([BUSY]).send(Request("POST", "https://api.example/orders")) is BUSY


def test_a_post_with_a_key_is_sent_again(bench):
    request = Request("POST", "https://api.example/orders", Headers({"idempotency-key": "k1"}))
    ready = bench([TransportError("reset"), OK])
    assert ready.send(request) is OK
    assert ready.transport.requests == [request, request]


def test_the_server_can_ask_for_more(bench):
    ready = bench([busy("7"), busy("0"), OK])
    assert ready.send(GET) is OK
    assert ready.sleeps == [7.0, 1.0]


def test_the_server_can_name_a_date(bench):
    ready = bench([busy("Wed, 01 May 2024 12:00:30 GMT"), OK])
    assert ready.send(GET) is OK
    assert ready.sleeps == [30.0]


def test_a_wait_beyond_patience_returns_the_response(bench):
    late = busy("121")
    ready = bench([late])
    assert ready.send(GET) is late
    assert ready.sleeps == []


def test_a_wait_that_ends_after_the_total_is_not_begun(bench):
    ready = bench([BUSY, BUSY, BUSY], total=3.0, base=1.0)
    assert ready.send(GET) is BUSY
    assert ready.sleeps == [1.0, 2.0]


def test_an_observer_is_told_of_attempts_and_waits():
    told = []
    time = FakeTime()
    client = Client(
        ScriptedTransport([BUSY, TransportError("reset"), OK]),
        Policy(jitter=False),
        sleep=time.sleep,
        now=time.now,
        observe=lambda attempt, wait: told.append((attempt.number, wait)),
    )
    client.send(GET)
    assert told == [(1, 0.5), (2, 1.0)]


def test_a_policy_without_attempts_is_refused():
    with pytest.raises(ValueError, match="attempts is 0; give 1 or more"):
        Policy(attempts=0)
    with pytest.raises(ValueError, match="base is 2 and cap is 1"):
        Policy(base=2, cap=1)
