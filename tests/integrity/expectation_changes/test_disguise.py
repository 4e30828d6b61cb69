import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.expectation_changes.disguise import write_disguised

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


@given(VALUES)
def test_a_written_value_is_the_same(value: object):
    text = write_disguised(value)
    assert text is not None
    assert (text[0], text[-1]) == ("(", ")")
    assert text.isascii()
    assert eval(text) == value
    assert type(eval(text)) is type(value)


@pytest.mark.parametrize("value", [0, -0.0, 5e-324, True, None, "", b"", "é\n", 3j, set(), "a'\""])
def test_scalars_keep_their_type_and_sign(value: object):
    assert repr(eval(write_disguised(value) or "")) == repr(value)


@pytest.mark.parametrize("value", [10**5000, float("inf"), [10**5000]], ids=["int", "inf", "list"])
def test_what_cannot_be_written_is_left_alone(value: object):
    assert write_disguised(value) is None


def test_a_set_has_the_same_text_in_every_process():
    assert write_disguised({"c", "a", "b"}) == "({'a', 'b', 'c'})"
