"""Canonical values: what survives the way from a value to the host, and what hostile values do."""

import collections
import dataclasses
import enum
import json
import math
import re
import types
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from unittest import mock
from uuid import UUID

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Digest,
    Group,
    Instance,
    Leaf,
    Unreadable,
    digest_of,
    of_python,
    parse_canonical,
    read_recordings,
    to_json,
    value_text,
)
from agentbench.integrity.sealing.equality import Agreement, equal
from agentbench.integrity.sealing.plain_values import NotPlainError, to_python
from agentbench.test_runs.mounted.agentbench_canonical import canonical_form
from agentbench.test_runs.mounted.agentbench_canonical_bounds import bounded, digest
from tests.integrity.sealing.recorded import recorded


def has_unreadable(value: CanonicalValue) -> bool:
    return '["cut"]' in json.dumps(to_json(value))


Pair = collections.namedtuple("Pair", "left right")


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Stats:
    leased: int
    idle: int = 0
    note: str = dataclasses.field(default="", compare=False)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF))
    | st.binary()
    | st.decimals(allow_nan=False, places=3)
    | st.fractions()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.datetimes(timezones=st.just(timezone(timedelta(hours=2))) | st.none())
    | st.uuids()
)
VALUES = st.recursive(
    SCALARS,
    lambda parts: st.lists(parts, max_size=4).map(tuple) | st.frozensets(SCALARS, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_plain_values_come_back_as_they_were(value):
    assert to_python(recorded(value)) == value


@given(st.recursive(SCALARS, lambda parts: st.lists(parts) | st.dictionaries(SCALARS, parts)))
def test_stored_form_of_a_value_is_read_as_the_same_value(value):
    first = recorded(value)
    assert parse_canonical(json.loads(json.dumps(to_json(first)))) == first
    assert isinstance(value_text(first), str)


@given(VALUES, VALUES)
def test_digests_are_equal_exactly_for_equal_values(one, other):
    assert (digest_of(of_python(one)) == digest_of(of_python(other))) == (one == other)


@pytest.mark.parametrize(
    "value",
    [
        -(2**5000), math.inf, -math.inf, -0.0, bytearray(b"x"), [1, [2]], {"b": 1, "a": [2]},
        {1, 2},
        range(3), slice(1, None), ..., NotImplemented, int, len, re, ValueError("x"), Pair(1, 2),
        Color.RED, Level.LOW, Stats(1), date(2020, 1, 2), time(1), datetime(2020, 1, 2),  # noqa: DTZ001
        timedelta(1), Decimal("1.50"), Fraction(1, 3), UUID(int=5), Path("a"), PureWindowsPath("a"),
        re.compile("x", re.I), collections.deque([1]), collections.OrderedDict(a=1),
        collections.defaultdict(list, a=1), collections.Counter("aa"), types.SimpleNamespace(a=1),
        types.MappingProxyType({1: 2}), {}.keys(), {1: 2}.items(), {1: 2}.values(),
        mock.call(1, a=2),
        mock.Mock().call_args_list, collections.UserDict(a=1), collections.UserList([1]),
        lambda: None, iter([1]), object(), type("Meta", (type,), {}), memoryview(b"x"), mock.Mock(),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_kind_of_value_is_recorded_whole(value):
    found = recorded(value)
    assert not has_unreadable(found)
    assert parse_canonical(to_json(found)) == found
    assert value_text(found)


def test_objects_carry_their_type_their_state_and_what_they_say():
    class Lazy:
        __slots__ = ("_inner", "size")

        def __init__(self):
            self.size, self._inner = 2, "ab"

        def __str__(self):
            return f"lazy {object.__repr__(self)}"

        def __len__(self):
            return 0

        def __getitem__(self, place):
            return [5, 6][place]

    found = recorded(Lazy())
    assert found.name == "Lazy"
    assert found.public == (("size", Leaf("int", 2)),)
    assert found.private == (("_inner", Leaf("str", "ab")),)
    assert found.disclosed("bool") == Leaf("bool", False)
    assert found.disclosed("list") == recorded([5, 6])
    assert re.fullmatch(r"lazy <.*Lazy object at 0x>", found.disclosed("str").value)


def test_fields_that_a_dataclass_does_not_compare_are_private():
    found = recorded(Stats(1, 2, "note"))
    assert [name for name, _ in found.public] == ["leased", "idle"]
    assert [name for name, _ in found.private] == ["note"]


def test_nothing_is_called_on_a_mock_and_no_iterator_is_consumed():
    double = mock.MagicMock()
    items = iter([1, 2])
    assert recorded(double).kind == "mock"
    recorded([items, (n for n in items)])
    assert double.mock_calls == []
    assert list(items) == [1, 2]


def test_warnings_and_exceptions_carry_the_names_of_their_bases():
    class OwnError(KeyError):
        def __str__(self):
            return "own text"

    found = recorded(OwnError("a", 2))
    assert found.types[1:3] == ("builtins.KeyError", "builtins.LookupError")
    assert found.disclosed("str") == Leaf("str", "own text")
    assert found.disclosed("args") == recorded(("a", 2))


def hostile_classes():
    """Made in a function, since pytest looks at the names of a module."""

    class Hostile:
        def __getattribute__(self, name):
            raise RuntimeError(name)

        def __eq__(self, other):
            return True

        __hash__ = None

        def __iter__(self):
            while True:
                yield 1

        def __len__(self):
            return -1

        def __str__(self):
            return 5

        def __repr__(self):
            raise ValueError("repr")

        def __int__(self):
            return "6"

        __bool__ = __index__ = __float__ = __int__

    class Meta(type):
        @property
        def __mro__(cls):
            raise RuntimeError("mro")

        def __getattribute__(cls, name):
            raise RuntimeError(name)

        def __instancecheck__(cls, instance):
            return True

    class WithMeta(metaclass=Meta):
        pass

    return Hostile, WithMeta


class Liar(str):
    __slots__ = ()
    __class__ = int

    def __str__(self):
        return "6"

    __repr__ = __str__

    def encode(self, *_):
        return b"6"

    def __iter__(self):
        return iter("6")


class LyingList(list):
    def __iter__(self):
        return iter([6])

    def __len__(self):
        return 1


@pytest.mark.parametrize("which", [0, 1])
def test_hostile_objects_are_recorded_without_their_lies(which):
    hostile = hostile_classes()[which]()
    for value in (hostile, [hostile], {1: (hostile,)}):
        found = recorded(value)
        assert '"6"' not in json.dumps(to_json(found))
        assert parse_canonical(to_json(found)) == found


def test_subclasses_of_built_in_types_are_read_by_the_base_type():
    assert recorded(Liar("five")).base == Leaf("str", "five")
    assert recorded(LyingList([1, 2])).base == recorded([1, 2])


def test_cycles_are_references_back():
    items = [1]
    items.append({"self": items})
    found = recorded(items)
    assert found.items[1].items[0].items[1] == Leaf("back", 2)
    assert parse_canonical(to_json(found)) == found


def test_endless_and_deep_values_end():
    deep = []
    for _ in range(500):
        deep = [deep]
    endless = type("Endless", (), {"__len__": lambda _: 1, "__iter__": lambda _: iter(int, 1)})
    assert isinstance(recorded(endless()).disclosed("list"), Unreadable)
    assert "digest" in json.dumps(to_json(recorded(deep)))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (list(range(30_000)), [*range(29_999), 5]),
        ({str(n): n for n in range(12_000)}, {str(n): n + 1 for n in range(12_000)}),
        ("x" * 500_000, "x" * 500_001),
        ({n: [n] for n in range(12_000)}, {n: [n] for n in range(12_001)}),
        ([["y" * 200_000], ["z" * 200_000]], [["y" * 200_000], ["z" * 200_001]]),
    ],
    ids=["list", "dict", "text", "lists", "texts"],
)
def test_large_values_are_bounded_and_have_the_digest_of_the_whole(value, other):
    form = canonical_form(value)
    short, size = bounded(form)
    assert short != form
    assert len(json.dumps(short)) < 600 * 1024
    assert size <= 257 * 1024
    assert digest_of(parse_canonical(short)) == digest(form) == digest_of(of_python(value))
    assert digest_of(recorded(other)) != digest(form)


@pytest.mark.parametrize(
    "form",
    [
        None, 5, "int", [], ["int"], ["int", 5], ["int", "zz"], ["bool", 1], ["str", None],
        ["wide", "f"],
        ["float", "x"], ["float", "0x1p99999"], ["none", 1], ["unknown", 1], [["int", "1"]],
        ["object", "own", 5, None, [], [], {}], ["object", "own", [], None, [["a"]], [], {}],
        ["digest", "short", 1], ["decimal", ["str", "1E99999999999999999999"]],
        ["decimal", ["int", "1"]],
        ["fraction", ["int", "1"], ["int", "0"]], ["dict", ["int", "1"]], ["pair", ["int", "1"]],
    ],
    ids=lambda value: ascii(value) if isinstance(value, str | int) else type(value).__name__,
)  # fmt: skip
def test_malformed_form_is_unreadable(form):
    assert parse_canonical(form) == Unreadable()
    assert digest_of(parse_canonical(["list", form]))


def test_form_that_is_nested_too_deep_is_unreadable_there():
    form = ["int", "1"]
    for _ in range(300):
        form = ["list", form]
    assert has_unreadable(parse_canonical(form))


def test_malformed_parts_of_plain_values_have_no_value():
    for form in (["date", ["int", "0"]], ["range", ["str", "x"]], ["uuid", ["int", "-1"]]):
        with pytest.raises(NotPlainError):
            to_python(parse_canonical(form))


def test_recordings_are_read_past_torn_and_foreign_lines():
    lines = [
        b'{"test": "a::b", "site": 1, "values": [["int", "6"]], "kind": "value", "n": 0}',
        b"not json", b"[1]", b'{"site": true, "values": []}', b'{"site": "1", "values": []}',
        b'{"test": "a::b", "site": 2, "raised": null}', b'{"test": null, "site": 3, "warned": []}',
        b'{"test": "a::b", "site": 4, "raised": ["int", "bad"]}', b"\xff\xfe",
        b'{"test": "a::b", "site": 5, "val',
    ]  # fmt: skip
    found = read_recordings(b"\n".join(lines))
    assert [recording.site for recording in found["a::b"]] == [1, 2, 4]
    assert found["a::b"][0].values == (Leaf("int", 6),)
    assert found["a::b"][1].raised is None
    assert isinstance(found["a::b"][2].raised, Leaf | Unreadable)
    assert found[""][0].warned == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6, "6"), ("a", "'a'"), ([1, (2,)], "[1, (2,)]"), ({"a": {1}}, "{'a': {1}}"),
        (set(), "set()"),
        (Color.RED, "Color.RED"), (ValueError("x"), "ValueError('x')"),
        (2**20000, hex(2**20000)[:199] + "…"),
        (Stats(1), "TestStats"), (b"x" * 500, "b'" + "x" * 197 + "…"), (int, "int"),
        (date(2020, 1, 2), "date(2020, 1, 2)"), (types.SimpleNamespace(a=1), "namespace(a=1)"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_are_shown_as_python_writes_them(value, text):
    found = value_text(recorded(value))
    assert found == text or (text == "TestStats" and found.startswith("Stats(leased=1"))
    assert len(found) <= 200


def test_digest_is_shown_with_its_count():
    assert value_text(Digest("ab" * 32, 7)) == "<7 values, SHA-256 abababababab…>"
    assert value_text(Group("list", (), Digest("ab" * 32, 7))) == "[… 7 more]"
    assert isinstance(recorded(object()), Instance)


def test_arrays_are_recorded_with_their_type_shape_and_items():
    array = recorded(numpy.array([[1, 2], [3, 4]], dtype="int16"))
    assert dict(array.public)["dtype"] == Leaf("str", "int16")
    assert array.disclosed("list") == recorded([[1, 2], [3, 4]])
    assert recorded(numpy.float32(1.5)).base == Leaf("float", 1.5)
    assert recorded(numpy.longdouble(1.5)).base == Leaf("float", 1.5)
    assert recorded(numpy.bool_(True)).base == Leaf("bool", True)
    table = recorded(pandas.DataFrame({"a": [1, 2]}))
    assert table.disclosed("dict") == recorded({"a": [1, 2]})
    assert recorded(pandas.Series([1, 2])).disclosed("list") == recorded([1, 2])


def test_proxies_are_recorded_with_what_they_stand_for():
    class Proxy:
        __slots__ = ("__wrapped__",)

        def __init__(self, value):
            self.__wrapped__ = value

    class Lazy:
        def __init__(self):
            self._wrapped = None

        def __str__(self):
            self._wrapped = {"a": 1}
            return str(self._wrapped)

    assert recorded(Proxy({"a": 1})).disclosed("wrapped") == recorded({"a": 1})
    assert equal(recorded(Proxy({"a": 1})), of_python({"a": 1})) is Agreement.YES
    assert equal(recorded(Lazy()), of_python({"a": 1})) is Agreement.YES


def test_state_of_an_object_is_bounded_and_its_public_part_comes_first():
    class Large:
        def __init__(self):
            self._cache = {n: [n] for n in range(5000)}
            self.size = 5

    found = recorded([Large() for _ in range(10)])
    assert [item.public for item in found.items] == [(("size", Leaf("int", 5)),)] * 10
    assert has_unreadable(found.items[0])


def test_mapping_keeps_its_keys_and_the_values_that_fit():
    deep = 1
    for _ in range(20):
        deep = [deep]
    found = recorded({"deep": deep, "flat": 5, "next": {"deep": deep, "flat": 6}})
    text = value_text(found, 10_000)
    assert "'flat': 5" in text
    assert "'flat': 6" in text
    assert digest_of(found) == digest_of(
        of_python({"deep": deep, "flat": 5, "next": {"deep": deep, "flat": 6}})
    )


@pytest.mark.parametrize(
    "value",
    [
        Group("decimal", (Leaf("str", "NaN12"),)),
        Group("function", (Leaf("int", 1 << 20_000),)),
        Group("time", (Leaf("int", 1),)),
        Instance("enum", ("shop.Cause",), public=(("name", Leaf("int", 1 << 20_000)),)),
    ],
    ids=lambda value: value.kind,
)
def test_malformed_value_is_compared_and_shown_without_an_error(value):
    assert equal(value, value) in Agreement
    assert len(digest_of(value)) == 64
    assert value_text(value)
