from tidycache import Cache, memoize


def test_a_function_is_called_once_per_argument():
    calls = []

    @memoize(Cache(10))
    def double(x, *, plus=0):
        calls.append((x, plus))
        return 2 * x + plus

    assert [double(2), double(2), double(2, plus=1), double(2, plus=1)] == [4, 4, 5, 5]
    assert calls == [(2, 0), (2, 1)]


def test_equal_arguments_of_other_types_are_kept_apart():
    @memoize(Cache(10))
    def describe(x):
        return repr(x)

    assert [describe(1), describe(1.0), describe(True)] == ["1", "1.0", "True"]


def test_functions_can_share_a_cache(clock):
    cache = Cache(10, ttl=5, clock=clock)
    first = memoize(cache)(lambda x: ("first", x))
    second = memoize(cache)(lambda x: ("second", x))
    assert (first(1), second(1)) == (("first", 1), ("second", 1))
    assert len(cache) == 2
    clock.advance(5)
    assert len(cache) == 0


def test_none_is_a_result_like_any_other():
    calls = []
    nothing = memoize(Cache(10))(lambda: calls.append(1))
    nothing()
    nothing()
    assert calls == [1]
