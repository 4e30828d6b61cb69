import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.test_runs.chunked_text import array_elements

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def in_chunks(text, size):
    return (text[start : start + size] for start in range(0, len(text), size))


@given(
    st.dictionaries(st.sampled_from(["tests", "a", "b", ""]), PLAIN, max_size=4),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
)
def test_it_finds_what_a_whole_reading_finds(value, size, indent):
    found = list(array_elements(in_chunks(json.dumps(value, indent=indent), size), "tests"))
    array = value.get("tests")
    expected = array if isinstance(array, list) else []
    assert found == [item for item in expected if isinstance(item, dict)]


@given(
    st.dictionaries(st.sampled_from(["tests", "a"]), PLAIN, max_size=2),
    st.integers(0, 200),
    st.integers(1, 40),
)
def test_a_text_that_is_torn_is_an_error(value, cut, size):
    text = json.dumps(value)
    torn = text[: min(cut, len(text) - 1)]
    with pytest.raises(ValueError, match=r".*"):
        list(array_elements(in_chunks(torn, size), "tests"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{} x", '{"a" 1}', '{"a": 1,}', '{"tests": [1 2]}', '{"a": ' + "[" * 100_000],
)
def test_what_is_no_object_is_an_error(text):
    with pytest.raises(ValueError, match=r".*"):
        list(array_elements(iter([text]), "tests"))


def test_numbers_that_go_on_in_the_next_chunk_are_whole():
    text = '{"tests": [{"a": 12345}], "b": 12345}'
    assert list(array_elements(in_chunks(text, 1), "tests")) == [{"a": 12345}]


def test_numbers_that_json_does_not_have_become_null():
    assert list(array_elements(iter(['{"tests": [{"a": NaN, "b": 1e999}]}']), "tests")) == [
        {"a": None, "b": None}
    ]
