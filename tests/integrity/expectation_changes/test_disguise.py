from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.expectation_changes.disguise import disguise, write_disguised

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**900), max_value=2**900),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=80),
    st.binary(max_size=80),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(SCALARS, inner, max_size=3),
        st.sets(SCALARS, max_size=3),
    ),
    max_leaves=8,
)


@given(SCALARS, st.randoms(use_true_random=False))
def test_a_disguised_constant_has_the_same_value_and_type(value: object, rng: Random):
    text = disguise(value, rng)
    if text is not None:
        assert repr(eval(text)) == repr(value)  # unlike ==, it tells 1 from True and -0.0 from 0.0
        assert text != repr(value)
        assert (text[0], text[-1]) == ("(", ")")
    else:
        assert isinstance(value, float)


@given(VALUES, st.randoms(use_true_random=False))
def test_a_written_value_is_the_same(value: object, rng: Random):
    text = write_disguised(value, rng)
    if text is not None:
        assert eval(text) == value
        assert type(eval(text)) is type(value)


@pytest.mark.parametrize(
    "value", [0, -0.0, 0.0, 5e-324, 1.5, True, None, "", b"", "é\n", (), "a'\""]
)
def test_common_constants_are_always_disguised(value: object):
    for seed in range(20):
        assert repr(eval(write_disguised(value, Random(seed)) or "")) == repr(value)


@pytest.mark.parametrize("value", [10**400, 3j])
def test_some_constants_are_left_alone(value: object):
    assert disguise(value, Random(1)) is None


def test_disguises_are_random():
    assert len({disguise("hello", Random(seed)) for seed in range(20)}) > 3
    assert len({disguise(6, Random(seed)) for seed in range(20)}) > 10


def test_the_text_is_plain_ascii():
    assert (disguise("größe 🌍", Random(2)) or "é").isascii()
