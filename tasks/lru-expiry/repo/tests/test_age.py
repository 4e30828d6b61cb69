import pytest

from tidycache import Cache, Cause


def test_an_entry_is_gone_at_its_deadline(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("a", 1)
    clock.advance(9.5)
    assert cache.get("a") == 1
    clock.advance(0.5)
    assert cache.get("a") is None
    assert "a" not in cache


def test_an_entry_can_have_its_own_ttl(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("short", 1, ttl=2)
    cache.set("forever", 2, ttl=None)
    clock.advance(2)
    assert list(cache) == ["forever"]
    clock.advance(1_000_000)
    assert cache.get("forever") == 2


def test_setting_again_starts_a_new_life(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("a", 1)
    clock.advance(6)
    cache.set("a", 2)
    clock.advance(6)
    assert cache.get("a") == 2
    clock.advance(4)
    assert cache.get("a") is None


def test_a_deleted_key_that_is_set_again_starts_a_new_life(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("a", 1)
    clock.advance(6)
    assert cache.delete("a") is True
    cache.set("a", 2)
    clock.advance(6)
    assert cache.peek("a") == 2


def test_touch_moves_the_deadline(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("a", 1)
    clock.advance(6)
    assert cache.remaining("a") == 4
    assert cache.touch("a") is True
    assert cache.remaining("a") == 10
    cache.touch("a", ttl=25)
    assert cache.remaining("a") == 25


def test_touching_nothing_is_no_error(clock):
    cache = Cache(5, ttl=10, clock=clock)
    assert cache.touch("a") is False
    cache.set("a", 1)
    clock.advance(10)
    assert cache.touch("a") is False


def test_a_hit_slides_the_deadline(clock):
    cache = Cache(5, ttl=10, sliding=True, clock=clock)
    cache.set("a", 1)
    clock.advance(6)
    cache.peek("a")
    assert cache.remaining("a") == 4
    cache.get("a")
    assert cache.remaining("a") == 10


def test_remaining_time_of_nothing(clock):
    cache = Cache(5, clock=clock)
    cache.set("forever", 1)
    assert cache.remaining("forever") is None
    with pytest.raises(KeyError, match="nobody"):
        cache.remaining("nobody")


def test_ttl_must_be_positive(clock):
    with pytest.raises(ValueError, match="ttl must be above 0, not 0"):
        Cache(5, ttl=0)
    with pytest.raises(ValueError, match="ttl must be above 0, not -1"):
        Cache(5, clock=clock).set("a", 1, ttl=-1)


def test_expiry_is_counted(clock):
    cache = Cache(5, ttl=10, clock=clock)
    cache.set("a", 1)
    cache.set("b", 2)
    clock.advance(11)
    assert len(cache) == 0
    assert cache.stats.removed[Cause.EXPIRED] == 2
