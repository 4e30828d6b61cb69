"""Holm's correction against a published example and its definition; letters against the pairs."""

import gc
import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring.paired_comparison import compact_letters, holm

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect():
    holm([1.0])  # imports it
    gc.freeze()
    yield
    gc.unfreeze()


def test_holm_s_correction_is_that_of_a_published_example():
    # The worked example of "Holm-Bonferroni method", Wikipedia: of 0.01, 0.04, 0.03 and 0.005 at
    # 5 % the fourth and the first are rejected, and the others are not.
    adjusted = holm([0.01, 0.04, 0.03, 0.005])
    assert [each <= 0.05 for each in adjusted] == [True, False, False, True]
    assert [round(each, 6) for each in adjusted] == [0.03, 0.06, 0.06, 0.02]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_each_p_value_is_adjusted_monotonically(p_values):
    # Holm 1979, "A simple sequentially rejective multiple test procedure".
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    expected, least = [0.0] * len(p_values), 0.0
    for rank, number in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p_values[number]))
        expected[number] = least
    adjusted = holm(p_values)
    assert all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(adjusted, expected, strict=True))


graphs = st.integers(0, 7).flatmap(
    lambda size: st.tuples(
        st.just(size), st.sets(st.sampled_from(list(combinations(range(size), 2)) or [(0, 0)]))
        if size > 1 else st.just(set()),
    )
)  # fmt: skip


@given(graphs)
def test_groups_share_a_letter_exactly_where_not_separated(graph):
    size, separated = graph
    letters = compact_letters(size, separated)
    assert len(letters) == size
    assert all(letters)
    for one, other in combinations(range(size), 2):
        shares = bool(set(letters[one]) & set(letters[other]))
        assert shares == ((one, other) not in separated)


def test_letters_begin_with_the_best():
    assert compact_letters(3, [(0, 2)]) == ("a", "ab", "b")
    assert compact_letters(3, []) == ("a", "a", "a")
    assert compact_letters(2, [(0, 1)]) == ("a", "b")


def test_groups_beyond_the_letters_are_separated_by_spaces():
    letters = compact_letters(30, combinations(range(30), 2))
    assert len(set(letters)) == 30
    assert (letters[0], letters[26]) == ("a", "aa")
