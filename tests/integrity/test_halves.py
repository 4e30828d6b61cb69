from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.control_plan import _partition


@given(st.sets(st.text(max_size=3)), st.integers())
def test_halves_are_complementary_and_of_random_size(names: set[str], seed: int):
    first, second = _partition(names, Random(seed))
    assert first | second == names
    assert not first & second
    assert bool(second) is (len(names) > 1)
    assert _partition(sorted(names, reverse=True), Random(seed)) == (first, second)


def test_a_single_function_is_in_the_first_half():
    assert _partition(["a"], Random(1))[0] == {"a"}


def test_the_sizes_of_halves_tell_nothing():
    assert {len(_partition("abcdefgh", Random(seed))[0]) for seed in range(99)} == {*range(1, 8)}


def test_halves_are_random():
    assert len({_partition("abcdefgh", Random(seed))[0] for seed in range(9)}) > 4
