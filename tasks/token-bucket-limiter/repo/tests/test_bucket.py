import pytest

from tollgate import AllOf, Rate, TokenBucket


def test_a_bucket_starts_full(clock):
    bucket = TokenBucket(Rate(3), clock=clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_tokens_come_in_at_the_rate(clock):
    bucket = TokenBucket(Rate(2), clock=clock)
    bucket.take(2)
    clock.advance(ms=500)
    assert bucket.available == 1
    clock.advance(ms=500)
    assert bucket.available == 2


def test_a_part_of_a_token_is_not_enough(clock):
    bucket = TokenBucket(Rate(2), clock=clock)
    bucket.take(2)
    clock.advance(ms=499)
    assert bucket.take() is False


def test_no_more_than_the_capacity_fits(clock):
    bucket = TokenBucket(Rate(10), capacity=4, clock=clock)
    bucket.take(3)
    clock.advance(60)
    assert bucket.available == 4
    assert bucket.full


def test_taking_is_all_or_nothing(clock):
    bucket = TokenBucket(Rate(5), clock=clock)
    assert bucket.take(3) is True
    assert bucket.take(3) is False
    assert bucket.available == 2


def test_unused_tokens_can_be_put_back(clock):
    bucket = TokenBucket(Rate(5), clock=clock)
    bucket.take(3)
    bucket.put_back(2)
    assert bucket.available == 4
    bucket.put_back(9)
    assert bucket.available == 5


def test_waiting_time(clock):
    bucket = TokenBucket(Rate(4), clock=clock)
    assert bucket.wait_ns(4) == 0
    bucket.take(4)
    assert bucket.wait_ns() == 250_000_000
    assert bucket.wait_ns(3) == 750_000_000
    clock.advance(ms=250)
    assert bucket.wait_ns() == 0


def test_waiting_time_is_rounded_up(clock):
    bucket = TokenBucket(Rate(3), clock=clock)
    bucket.take(3)
    assert bucket.wait_ns() == 333_333_334
    clock.advance(ns=333_333_334)
    assert bucket.take() is True


@pytest.mark.parametrize("tokens", [0, -1, 6])
def test_impossible_numbers_of_tokens(clock, tokens):
    bucket = TokenBucket(Rate(5), clock=clock)
    with pytest.raises(ValueError, match=f"between 1 and 5, not {tokens}"):
        bucket.take(tokens)


def test_all_buckets_have_to_agree(clock):
    second, minute = (TokenBucket(Rate.parse(t), clock=clock) for t in ("2/s", "3/min"))
    both = AllOf([second, minute])
    assert [both.take() for _ in range(3)] == [True, True, False]
    assert (second.available, minute.available) == (0, 1)
    clock.advance(20)
    assert [both.take() for _ in range(3)] == [True, True, False]
    assert (second.available, minute.available) == (0, 0)
    assert both.wait_ns() == 20_000_000_000
