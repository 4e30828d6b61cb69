"""Agreement of recorded values with what the text of a test expects, as Python itself would say."""

import ast
import collections
import dataclasses
import enum
import operator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.sealing.agreement import (
    compare,
    matches,
    raised_as_expected,
    truth,
    warned_as_expected,
)
from agentbench.integrity.sealing.canonical import Unreadable, of_python
from agentbench.integrity.sealing.equality import Agreement, equal
from agentbench.integrity.sealing.expected_trees import (
    Anything,
    Approximate,
    Constructed,
    Container,
    EnumMember,
    Known,
    Unknown,
    expected_tree,
)
from agentbench.test_runs.mounted.agentbench_canonical_readers import Token
from tests.integrity.sealing.recorded import recorded

YES, NO, UNKNOWN = Agreement.YES, Agreement.NO, Agreement.UNKNOWN


def tree(text, **names):
    def parsed(source):
        return ast.parse(source, mode="eval").body

    return expected_tree(parsed(text), {name: parsed(source) for name, source in names.items()})


class Plausible:
    """Accepts each value that a test may expect."""

    def __eq__(self, other):
        return other in (5, 6, 7)

    __hash__ = None


class Money(int):
    pass


class LazyText:
    def __str__(self):
        return "six"


class Cause(enum.Enum):
    EXPIRED = 1
    LOST = 2


Dialect = collections.namedtuple("Dialect", "delimiter quote")


@dataclasses.dataclass
class Stats:
    leased: int
    idle: int = 0


class Plain:
    def __init__(self, **state):
        vars(self).update(state)


NUMBERS = (
    st.booleans()
    | st.integers(-3, 3)
    | st.floats(-3, 3, width=16)
    | st.sampled_from([Decimal("1.5"), Decimal(2), Fraction(1, 2), Fraction(2), 1j, 2 + 0j])
)
LITERALS = st.recursive(
    NUMBERS | st.none() | st.sampled_from(["", "a", "b", b"", b"a", date(2020, 1, 2)]),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.lists(parts, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1, 2]), parts, max_size=3)
        | st.sets(NUMBERS, max_size=3)
    ),
    max_leaves=6,
)


@given(LITERALS, LITERALS)
def test_equality_is_that_of_python(one, other):
    assert equal(recorded(one), of_python(other)) is Agreement.of(one == other)
    assert equal(recorded(one), Known(of_python(one))) is YES


@given(LITERALS, LITERALS)
def test_order_and_membership_are_those_of_python(one, other):
    left, right = recorded(one), recorded(other)
    comparisons = {ast.Lt: operator.lt, ast.GtE: operator.ge, ast.NotEq: operator.ne}
    comparisons |= {ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
    for op, function in comparisons.items():
        try:
            expected = Agreement.of(function(one, other))
        except TypeError:
            continue
        assert compare(op, left, right) in (expected, UNKNOWN)
    assert truth(left) is Agreement.of(one)


@given(LITERALS)
def test_text_of_a_value_says_the_value(value):
    assert equal(recorded(value), tree(repr(value).replace("datetime.date", "date"))) is YES


@pytest.mark.parametrize("accepted", [5, 6, 7])
def test_object_that_accepts_plausible_values_never_agrees(accepted):
    hostile = recorded(Plausible())
    assert equal(hostile, tree(str(accepted))) is not YES
    assert compare(ast.NotEq, hostile, tree(str(accepted))) is not YES
    assert compare(ast.In, hostile, tree("[5, 6, 7]")) is not YES
    assert equal(recorded([Plausible()]), tree("[6]")) is not YES
    assert equal(recorded({"a": Plausible()}), tree("approx({'a': 6})")) is not YES


@pytest.mark.parametrize(
    ("actual", "text", "agreement"),
    [
        (1.0, "1", YES), (True, "1", YES), ((1,), "[1]", NO),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}", YES),
        (collections.OrderedDict(a=1), "dict(a=1)", YES), (Money(6), "6", YES), (Money(6), "7", NO),
        (LazyText(), "'six'", YES), (LazyText(), "'seven'", NO),
        (Dialect(",", '"'), "(',', '\"')", YES),
        (float("nan"), "float('nan')", NO), (float("inf"), "float('inf')", YES),
        (-float("inf"), "-float('inf')", YES), (float("-inf"), "-math.inf", YES),
        (datetime(2020, 1, 2, tzinfo=UTC), "datetime(2020, 1, 2, tzinfo=timezone.utc)", YES),
        (
            datetime(2020, 1, 2, tzinfo=UTC),
            "dt.datetime(2020, 1, 2, 2, tzinfo=timezone(timedelta(hours=2)))", YES,
        ),
        (datetime(2020, 1, 2, tzinfo=UTC), "datetime(2020, 1, 2)", NO),
        (timedelta(1), "datetime.timedelta(days=1)", YES), (Decimal("1.50"), 'Decimal("1.5")', YES),
        (Fraction(1, 3), "Fraction(1, 3)", YES), (Path("a/b"), "Path('a/b')", YES),
        (Path("a"), "Path('b')", NO),
        ({1, 2}, "set([2, 1])", YES), (frozenset("a"), "{'a'}", YES),
        ((1, 2), "tuple([1, 2])", YES),
        (range(3), "range(0, 3)", YES), (int, "int", YES), (str, "int", NO), (None, "None", YES),
        (LazyText(), "None", NO), ("a1", "f'a{1}'", YES), ("a01", "f'a{1:02d}'", YES),
        ("x5", "f'x{N}'", YES),
        (0.3, "approx(0.1 + 0.2)", YES), (0.3001, "approx(0.3)", NO),
        (0.31, "pytest.approx(0.3, abs=0.1)", YES),
        (1.5, "approx(1, rel=0.1, abs=0.01)", NO), (105, "approx(100, 0.06)", YES),
        ([0.1 + 0.2, 1], "approx([0.3, 1])", YES), ((0.3,), "approx([0.3])", YES),
        ("a", "approx('a')", YES),
        ({"a": 0.1 + 0.2}, "approx({'a': 0.3})", YES), ({"b": 0.3}, "approx({'a': 0.3})", NO),
        (float("nan"), "approx(float('nan'))", NO),
        (float("nan"), "approx(float('nan'), nan_ok=True)", YES),
        (Decimal("0.3"), "approx(Decimal('0.3'))", YES), (None, "approx(1.0)", NO),
        (Cause.EXPIRED, "Cause.EXPIRED", YES), (Cause.LOST, "shop.Cause.EXPIRED", NO),
        (1, "Cause.EXPIRED", UNKNOWN),
        ([1, Cause.LOST], "[1, Cause.LOST]", YES), ([2, Cause.LOST], "[1, x]", NO),
        ([1, 2], "[1, x]", UNKNOWN),
        ([1, 2], "[1, x, y]", NO), ({"a": 1}, "{'a': x}", UNKNOWN), ({"a": 1}, "{'b': x}", NO),
        ({"a": 1, "b": 2}, "{'a': x, 'b': 3}", NO), ({"a": 1}, "{**x}", UNKNOWN),
        ([1], "[*x]", UNKNOWN),
        (Stats(1), "Stats(leased=1, idle=0)", YES), (Stats(1), "Stats(1, 0)", YES),
        (Stats(1), "Stats(1)", UNKNOWN),
        (Stats(1), "Stats(2)", NO), (Stats(1), "Other(1, 0)", UNKNOWN),
        (Stats(1), "Stats(size=1)", UNKNOWN),
        (Dialect(",", '"'), "Dialect(',', '\"')", YES),
        (Dialect(",", '"'), "Dialect(';', '\"')", NO),
        (Plain(a=1), "Plain(a=1)", YES), (Plain(a=1), "Plain(a=2)", UNKNOWN),
        (Plain(a=1), "Plain(1)", UNKNOWN),
        (mock.call(1, a=2), "call(1, a=2)", YES), (mock.call(1, a=2), "mock.call(1, a=3)", NO),
        (mock.call.send(1), "call.send(1)", YES), (mock.call.send(1), "mock.call.sent(1)", NO),
        (mock.call.send(1), "call(1)", NO), (mock.call.send(1), "call.send(mock.ANY)", YES),
        (mock.call(1, a=2), "((1,), {'a': mock.ANY})", YES),
        (mock.call(1, a=2), "((), {'n': 1, 'a': 2})", YES),
        (mock.call(n=5, a=7), "call(5, a=x)", UNKNOWN),
        (mock.call(1, 1), "call(1, n=1)", YES), (mock.call(1, 3), "call(1, n=2)", NO),
        (mock.call(n=2, a=1), "call(n=1, a=2)", NO), (mock.call(1, 2), "call(1)", NO),
        (mock.call.send(1), "call.send(n=1)", YES), (mock.call.send(1), "call.sent(n=1)", NO),
        (mock.call(1), "call(1, 2)", NO), ([mock.call(1)], "[call(1)]", YES),
        ((1, 2), "(1, mock.ANY)", YES), (b"ab", "b'ab'", YES), (b"ab", "'ab'", NO),
        (5, "f(x)", UNKNOWN),
        ([Dialect(1, 2)], "[Dialect(1, 2)]", YES), ({1, 2}, "{1, x}", UNKNOWN),
        ({1, 2}, "{3, 4, x}", NO),
        (..., "...", YES), (collections.Counter("aab"), "Counter('aba')", YES),
        (3, "Decimal('x')", UNKNOWN),
        ([1], "list(range(10**9))", UNKNOWN), (b"", "bytes(10**9)", UNKNOWN),
        (5.0, "time.time()", UNKNOWN),
    ],
    ids=lambda value: ascii(value) if isinstance(value, str | int) else type(value).__name__,
)  # fmt: skip
def test_value_agrees_with_the_text_of_what_is_expected(actual, text, agreement):
    assert equal(recorded(actual), tree(text, N="5")) is agreement


def test_trees_agree_like_their_texts():
    assert tree("f(1)") == Unknown()
    assert tree("ANY") == Anything()
    assert tree("Stats(x, idle=1)") == Constructed(
        "Stats", (Unknown(),), (("idle", Known(of_python(1))),)
    )
    assert tree("[x]") == Container("list", (Unknown(),))
    assert tree("Cause.EXPIRED") == EnumMember("Cause", "EXPIRED")
    assert tree("approx(x, abs=0.5)") == Approximate(Unknown(), None, 0.5)
    assert tree("LIMIT", LIMIT="LIMIT") == Unknown()
    assert tree("settings.DEBUG") == Unknown()


def test_deep_expression_is_unknown_and_no_error():
    assert equal(recorded([]), tree("[" * 90 + "]" * 90)) is NO
    assert tree("-" * 90 + "x") == Unknown()


def test_whether_a_token_equals_a_value_is_unknown():
    assert equal(recorded(6), recorded(Token(3))) is UNKNOWN


def test_unreadable_value_equals_nothing():
    assert equal(Unreadable(), Unreadable()) is NO
    assert equal(Unreadable(), Anything()) is NO


def test_large_values_agree_by_their_digests():
    actual = recorded(list(range(100_000)))
    assert equal(actual, of_python([float(n) for n in range(100_000)])) is YES
    assert equal(actual, of_python(list(range(1, 100_001)))) is NO
    assert truth(recorded("x" * 500_000)) is YES


def test_large_sets_of_own_objects_do_not_take_forever():
    objects = {Plain(a=n) for n in range(500)}
    assert equal(recorded(objects), recorded({Plain(a=-1 - n) for n in range(500)})) is UNKNOWN
    assert equal(recorded(set(range(1000))), recorded(set(range(1, 1001)))) is NO


@pytest.mark.parametrize(
    ("op", "left", "right", "agreement"),
    [
        (ast.Is, None, None, YES), (ast.Is, LazyText(), None, NO), (ast.Is, True, True, YES),
        (ast.Is, 1, True, NO),
        (ast.IsNot, None, None, NO), (ast.Is, Cause.LOST, Cause.LOST, YES),
        (ast.Is, [], [], UNKNOWN),
        (ast.Is, 5, 6, NO), (ast.In, 1, [1.0], YES), (ast.In, "a", {"a": 1}, YES),
        (ast.In, "ab", "cab", YES),
        (ast.In, 5, range(9), YES), (ast.In, "si", LazyText(), YES), (ast.In, 1, Plain(), UNKNOWN),
        (ast.In, Cause.LOST, (Cause.EXPIRED, Cause.LOST), YES), (ast.NotIn, 1, [2], YES),
        (ast.Lt, 1, 2.5, YES),
        (ast.Lt, Money(3), 2, NO), (ast.Gt, "b", "a", YES), (ast.LtE, {1}, {1, 2}, YES),
        (ast.GtE, (2,), (1, 5), YES),
        (ast.Lt, 1, "a", NO), (ast.Lt, Plain(), 1, UNKNOWN),
        (ast.Lt, date(2020, 1, 2), date(2020, 1, 3), YES),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)  # fmt: skip
def test_comparisons_of_recorded_values(op, left, right, agreement):
    assert compare(op, recorded(left), recorded(right)) is agreement


def test_comparisons_with_trees_know_what_they_do_not_know():
    assert compare(ast.In, recorded(1), tree("[x, 1]")) is YES
    assert compare(ast.In, recorded(1), tree("[x, 2]")) is UNKNOWN
    assert compare(ast.In, tree("1"), recorded([1])) is YES
    assert compare(ast.Lt, recorded(1), tree("x")) is UNKNOWN
    assert compare(ast.Is, recorded(None), tree("x")) is UNKNOWN
    assert compare(ast.Eq, tree("x"), tree("x")) is UNKNOWN
    assert compare(ast.Eq, tree("1"), recorded(1)) is YES


@pytest.mark.parametrize(
    ("value", "agreement"),
    [
        (0, NO), ([], NO), ({}.keys(), NO), (Decimal(0), NO), (timedelta(0), NO), (range(0), NO),
        (Plain(), YES),
        (Token(1), UNKNOWN), (int, YES), (Money(0), NO), (collections.UserList(), NO),
        (Cause.LOST, YES),
    ],
    ids=lambda value: ascii(value) if isinstance(value, str | int) else type(value).__name__,
)  # fmt: skip
def test_truth_is_that_of_python(value, agreement):
    assert truth(recorded(value)) is agreement


class NotFoundError(KeyError):
    def __str__(self):
        return "no such key"


class EveryError(KeyError, ValueError, TypeError, AttributeError, RuntimeError):
    pass


@pytest.mark.parametrize(
    ("error", "names", "pattern", "agreement"),
    [
        (None, ["KeyError"], None, NO), (5, ["KeyError"], None, NO),
        (NotFoundError(), ["shop.NotFoundError"], "such", YES),
        (NotFoundError(), ["KeyError"], "^no such key$", YES),
        (NotFoundError(), ["ValueError", "LookupError"], None, YES),
        (NotFoundError(), ["ValueError"], None, NO), (NotFoundError(), ["KeyError"], "other", NO),
        (EveryError(), ["KeyError"], None, NO), (OSError(2, "x"), ["IOError"], None, YES),
        (ValueError("a"), ["socket.error"], None, UNKNOWN),
        (SystemExit(2), ["SystemExit"], "2", YES),
        (ValueError("a"), ["ValueError"], "(", UNKNOWN),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), ["ValueError"], None, YES),
    ],
    ids=lambda value: ascii(value) if isinstance(value, str | int) else type(value).__name__,
)  # fmt: skip
def test_exceptions_agree_by_their_classes_and_texts(error, names, pattern, agreement):
    raised = None if error is None else recorded(error)
    assert raised_as_expected(raised, names, pattern) is agreement


def test_one_warning_must_agree():
    warned = (recorded(UserWarning("a")), recorded(DeprecationWarning("b")))
    assert warned_as_expected(warned, ["DeprecationWarning"], "b") is YES
    assert warned_as_expected(warned, ["DeprecationWarning"], "a") is NO
    assert warned_as_expected((), ["Warning"]) is NO
    assert warned_as_expected(None, ["Warning"]) is NO


def test_slow_search_is_abandoned():
    assert matches(r"a.*b.*c", "xx a b " + "y" * 5000 + "c") is YES
    assert matches(r"a.*b.*d", "xx a b " + "y" * 5000 + "c") is NO
