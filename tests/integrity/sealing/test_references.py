"""Recordings of an attempt against those of the reference solution."""

import collections
import dataclasses
import enum
import types
from decimal import Decimal
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.sealing.canonical import Unreadable
from agentbench.integrity.sealing.references import is_informative, same_as_reference
from tests.integrity.sealing.recorded import recorded


class Point:
    def __init__(self, x, **more):
        self.x = x
        vars(self).update(more)


class Box:
    def __init__(self, size):
        self._size = size


class Text:
    __slots__ = ("_make",)

    def __init__(self, text):
        self._make = lambda: text

    def __str__(self):
        return self._make()

    def __repr__(self):
        return f"Text({self._make()!r})"


class OwnList(list):
    pass


class Items:
    def __init__(self, *items):
        self._items = items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)


class Accepting:
    def __eq__(self, other):
        return True

    __hash__ = None


class Color(enum.Enum):
    RED, BLUE = 1, 2


@dataclasses.dataclass
class Stats:
    leased: int
    at: float = 0.0


class OwnError(ValueError):
    pass


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts) | st.sets(st.integers()),
)


@given(VALUES)
def test_every_value_is_the_same_as_itself(value):
    assert same_as_reference(recorded(value), [recorded(value)])
    assert not same_as_reference(Unreadable(), [recorded(value)])
    assert not same_as_reference(recorded(Accepting()), [recorded(value)])


@pytest.mark.parametrize(
    ("actual", "reference", "same"),
    [
        (1.0, 1, True), (True, 1, False), ((1,), [1], False), (0.1 + 0.2, 0.3, True),
        (0.31, 0.3, False),
        (OwnList([1]), [1], True), ([1], OwnList([1]), True), (Items(1, 2), [1, 2], True),
        (Items(1), [1, 2], False),
        (Text("a"), "a", True), ("a", Text("a"), False), (Text("a"), Text("a"), True),
        (Text("a"), Text("b"), False),
        (Point(1, y=2), Point(1), True), (Point(1), Point(1, y=2), False),
        (Point(2), Point(1), False),
        (types.SimpleNamespace(x=1), Point(1), True), (Box(1), Box(1), True),
        (Box(2), Box(1), False),
        (Stats(1), Stats(1), True), (Stats(2), Stats(1), False), (Color.RED, Color.RED, True),
        (Color.BLUE, Color.RED, False), (1, Color.RED, False),
        (OwnError("a"), ValueError("a"), True),
        (ValueError("a"), OwnError("a"), False), (ValueError("b"), ValueError("a"), False),
        (int, int, True),
        (str, int, False), (mock.Mock(), mock.Mock(), True), (object(), object(), True),
        (5, object(), False),
        (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}, True),
        ({"a": Point(1)}, {"a": Point(1)}, True),
        (collections.OrderedDict(b=1, a=1), collections.OrderedDict(a=1, b=1), False),
        ({"a": 1}, {"b": 1}, False),
        ({Color.RED, 1}, {1, Color.RED}, True), (Text, Text, True), (5, None, False),
        (float("nan"), float("nan"), True),
        (float("nan"), Decimal("sNaN"), False),
    ],
    ids=lambda value: type(value).__name__,  # texts of objects differ between processes
)  # fmt: skip
def test_values_are_the_same_by_what_a_test_could_see(actual, reference, same):
    assert same_as_reference(recorded(actual), [recorded(reference)]) is same


def test_parts_in_which_the_reference_differs_are_ignored():
    references = [recorded({"at": at, "n": [1, at]}) for at in (10.5, 11.5)]
    assert same_as_reference(recorded({"at": 99.0, "n": [1, 3.5]}), references)
    assert not same_as_reference(recorded({"at": 99.0, "n": [2, 3.5]}), references)
    assert not same_as_reference(recorded({"at": "now", "n": [1, 3.5]}), references)
    stats = [recorded(Stats(1, at)) for at in (1.0, 2.0)]
    assert same_as_reference(recorded(Stats(1, 9.0)), stats)
    assert not same_as_reference(recorded(Stats(2, 9.0)), stats)


def test_reference_of_other_length_or_type_each_time_says_nothing():
    assert same_as_reference(recorded([5]), [recorded([1]), recorded([1, 2])])
    assert not is_informative([recorded([1]), recorded([1, 2])])
    assert not is_informative([recorded(1.5), recorded(2.5)])
    assert not is_informative([recorded(object())])
    assert is_informative([recorded(Point(1))])
    assert is_informative([recorded(6)])


def test_large_values_are_the_same_by_their_digests():
    reference = recorded({n: str(n) for n in range(12_000)})
    assert same_as_reference(recorded({n: str(n) for n in range(12_000)}), [reference])
    assert not same_as_reference(recorded(dict.fromkeys(range(12_000), "x")), [reference])
    assert not same_as_reference(recorded(list(range(30_000))), [recorded(list(range(30_001)))])
