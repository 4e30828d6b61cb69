from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.control_plan import _partition


@given(st.sets(st.text(max_size=3)), st.integers())
def test_halves_are_complementary_and_of_equal_size(names: set[str], seed: int):
    two = _partition(names, Random(seed))
    assert two.first | two.second == names
    assert not two.first & two.second
    assert len(two.first) - len(two.second) in (0, 1)
    assert _partition(sorted(names, reverse=True), Random(seed)) == two


def test_a_single_function_is_in_the_first_half():
    assert _partition(["a"], Random(1)).first == {"a"}


def test_halves_are_random():
    assert len({_partition("abcdefgh", Random(seed)).first for seed in range(9)}) > 4
