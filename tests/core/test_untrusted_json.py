import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core import untrusted_json


@pytest.mark.parametrize(
    "source", ["", "{", "[]", "3", "null", '{"a": 1', "[" * 100_000, '{"a":' * 100_000]
)
def test_incomplete_object_is_none(source):
    assert untrusted_json.json_object(source) is None


def test_numbers_that_json_cannot_hold_become_null():
    source = '{"a": NaN, "b": -Infinity, "c": 1e999, "d": 1.5}'
    assert untrusted_json.json_object(source) == {"a": None, "b": None, "c": None, "d": 1.5}


def test_a_number_of_too_many_digits_makes_the_object_unreadable():
    assert untrusted_json.json_object('{"a": ' + "9" * 10_000 + "}") is None


def test_lone_surrogates_are_replaced_and_pairs_stay():
    source = r'{"\ud800": ["\udfff", {"x": "\ud83d\ude00", "n": 1}]}'
    assert untrusted_json.json_object(source) == {"?": ["?", {"x": "\U0001f600", "n": 1}]}


@given(st.text())
def test_any_object_that_is_read_can_be_written_again(source):
    value = untrusted_json.json_object(json.dumps({"a": source}))
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


def test_long_text_keeps_head_and_tail_with_a_note():
    cut = untrusted_json.text("a" * 60 + "b" * 60, limit=20)
    assert cut.startswith("a" * 10 + "\n")
    assert cut.endswith("\n" + "b" * 10)
    assert "100 characters left out" in cut


@pytest.mark.parametrize("value", [None, 1, b"x", ["x"], {}])
def test_anything_but_a_string_is_an_empty_text(value):
    assert untrusted_json.text(value) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0),
        (0.25, 0.25),
        (-1, 0.0),
        (True, 0.0),
        ("1", 0.0),
        (None, 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (10**400, 0.0),
    ],
)
def test_only_a_finite_positive_number_is_a_duration(value, expected):
    assert untrusted_json.seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (7, 7), (-1, None), (True, None), (1.0, None), (10**12, None)]
)
def test_only_a_whole_number_counts(value, expected):
    assert untrusted_json.count(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (-9, -9), (255, 255), (256, None), (False, None), ("0", None)]
)
def test_only_a_small_whole_number_is_an_exit_status(value, expected):
    assert untrusted_json.exit_status(value) == expected


def test_objects_skips_other_elements():
    assert list(untrusted_json.objects([{}, 1, None, {"a": 1}, []])) == [{}, {"a": 1}]
    assert list(untrusted_json.objects({"a": 1})) == []
