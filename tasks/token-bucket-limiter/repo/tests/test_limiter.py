import pytest

from tollgate import Limiter, Rate, Throttled, limited


def test_every_key_has_its_own_limit(clock):
    limiter = Limiter(Rate(1), clock=clock)
    assert [limiter.allow(key) for key in "aab"] == [True, False, True]


def test_several_rates(clock):
    limiter = Limiter(Rate.parse("2/s"), Rate.parse("3/min"), clock=clock)
    assert [limiter.allow("a") for _ in range(3)] == [True, True, False]
    assert limiter.retry_after("a") == 1
    clock.advance(20)
    assert [limiter.allow("a") for _ in range(3)] == [True, True, False]
    assert limiter.retry_after("a") == 20


def test_remaining_requests(clock):
    limiter = Limiter(Rate.parse("60/min"), burst=5, clock=clock)
    limiter.allow("a", cost=3)
    assert limiter.remaining("a") == 2
    clock.advance(2)
    assert limiter.remaining("a") == 4


def test_full_buckets_are_forgotten(clock):
    limiter = Limiter(Rate(1), burst=2, clock=clock)
    limiter.allow("a")
    limiter.allow("b", cost=2)
    clock.advance(1)
    assert limiter.prune() == 1
    assert len(limiter) == 1
    assert limiter.remaining("b") == 1


def test_the_decorator(clock):
    @limited(Limiter(Rate.parse("1/10s"), clock=clock))
    def ping():
        return "pong"

    assert ping() == "pong"
    with pytest.raises(Throttled, match="try again in 10 s") as caught:
        ping()
    assert caught.value.retry_after == 10
    clock.advance(10)
    assert ping() == "pong"


def test_a_limiter_needs_a_rate():
    with pytest.raises(ValueError, match="at least one rate"):
        Limiter()
