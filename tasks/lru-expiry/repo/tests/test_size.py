import pytest

from tidycache import Cache, Cause


def test_a_value_can_be_read_back():
    cache = Cache(2)
    cache.set("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b", "none") == "none"


def test_the_least_recently_used_entry_goes_first():
    cache = Cache(2)
    cache.set("a", 1)
    cache.set("b", 2)
    cache.get("a")
    cache.set("c", 3)
    assert list(cache) == ["a", "c"]


def test_peek_is_not_a_use():
    cache = Cache(2)
    cache.set("a", 1)
    cache.set("b", 2)
    assert cache.peek("a") == 1
    cache.set("c", 3)
    assert list(cache) == ["b", "c"]


def test_touch_is_a_use():
    cache = Cache(2, ttl=60)
    cache.set("a", 1)
    cache.set("b", 2)
    assert cache.touch("a") is True
    cache.set("c", 3)
    assert list(cache) == ["a", "c"]


def test_setting_a_key_again_takes_no_room():
    cache = Cache(2)
    cache.set("a", 1)
    cache.set("b", 2)
    cache.set("a", 10)
    assert list(cache) == ["b", "a"]
    assert cache.get("a") == 10


def test_expired_entries_make_room_before_live_ones(clock):
    cache = Cache(2, clock=clock)
    cache.set("old", 1)
    cache.set("short", 2, ttl=5)
    clock.advance(5)
    cache.set("new", 3)
    assert list(cache) == ["old", "new"]


def test_size_must_be_positive():
    with pytest.raises(ValueError, match="maxsize must be at least 1, not 0"):
        Cache(0)


def test_listeners_hear_the_cause(clock):
    heard = []
    cache = Cache(2, ttl=10, clock=clock, on_remove=lambda *what: heard.append(what))
    cache.set("a", 1)
    cache.set("a", 2)
    cache.set("b", 3)
    cache.set("c", 4)
    cache.delete("b")
    clock.advance(10)
    assert len(cache) == 0
    assert heard == [
        ("a", 1, Cause.REPLACED),
        ("a", 2, Cause.EVICTED),
        ("b", 3, Cause.DELETED),
        ("c", 4, Cause.EXPIRED),
    ]


def test_statistics():
    cache = Cache(1)
    assert cache.stats.hit_rate == 0.0
    cache.set("a", 1)
    cache.get("a")
    cache.get("x")
    assert (cache.stats.hits, cache.stats.misses, cache.stats.hit_rate) == (1, 1, 0.5)


def test_clear_removes_everything():
    cache = Cache(3, ttl=10)
    cache.set("a", 1)
    cache.set("b", 2)
    cache.clear()
    assert list(cache) == []
    assert cache.stats.removed[Cause.DELETED] == 2
