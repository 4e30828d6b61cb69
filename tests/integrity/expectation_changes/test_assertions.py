from textwrap import indent

import pytest

from agentbench.integrity.expectation_changes.engine import uncontrolled_reasons
from agentbench.integrity.expectation_changes.parsed_file import parse_file


def values(body: str, before: str = "") -> list[tuple[str, int]]:
    """What may be changed in a test, elements that come and go left aside, with the doubts."""
    kind = "async def" if "await " in body else "def"
    text = f"{before}\n{kind} test(fixture):\n{indent(body, '    ')}\n"
    file = parse_file(text, "t.py")
    function = file.read(file.functions.functions["test"])
    return [(one.original, one.doubt) for one in function.values if one.kind != "container"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert f(1) == 2", [("2", 0)]),
        ("assert 2 == f(1)", [("2", 0)]),
        ("assert f(1) == -2.5", [("-2.5", 0)]),
        ("assert f() == [1, {'a': (b'c',)}]", [("1", 0), ("'a'", 0), ("b'c'", 0)]),
        ("assert f() == x + 1", [("1", 1)]),
        ("assert f('a') == Pair('b', n=1)", [("'b'", 2), ("1", 2)]),
        ("assert Pair('b') == f('a')", [("'a'", 2)]),
        ("assert f() == Decimal('1.5')", [("'1.5'", 1)]),
        ("assert f() is True", [("True", 0)]),
        ("assert f() is None", [("None", 0)]),
        ("assert f() == 1 == g()", [("1", 0), ("1", 0)]),
        ("assert f() == 1 and g() == 2", [("1", 0), ("2", 0)]),
        ("assert f() == f'{x} a'", []),
        ("assert f() == approx(0.5)", [("0.5", 0)]),
        ("assert f() == approx(0.5, rel=0.9)", []),
        ("assert 'a' in f()", [("'a'", 1)]),
        ("assert f() < 3", []),
        ("assert all(x == 1 for x in f())", [("1", 1)]),
        ("assert f().startswith('a')", [("'a'", 1)]),
        ("with pytest.raises(KeyError, match='no'): f()", [("KeyError", 0), ("'no'", 0)]),
        ("pytest.raises(KeyError, f, 'a')", [("KeyError", 0)]),
        ("self.assertEqual(f(1), 2)", [("2", 0)]),
        ("self.assertAlmostEqual(f(), 0.5, 2)", [("0.5", 0)]),
        ("self.assertIn(3, f())", [("3", 1)]),
        ("self.assertRaisesRegex(E, 'a', f)", [("E", 0), ("'a'", 0)]),
        ("self.assertTrue(f() == 3)", [("3", 0)]),
        ("self.assertTrue(f().startswith('a'))", [("'a'", 1)]),
        ("self.assertRaisesMessage(E, 'a', f)", [("E", 0), ("'a'", 0)]),
        ("with self.assertRaisesMessage(E, 'a'): f()", [("E", 0), ("'a'", 0)]),
        ("self.assertHTMLEqual(f(), '<p>')", [("'<p>'", 0)]),
        ("self.assertQuerySetEqual(f(), [1, 2])", [("1", 0), ("2", 0)]),
        ("assert await f() == 3", [("3", 0)]),
        ("m.assert_awaited_with(1, a='b')", [("1", 0), ("'b'", 0)]),
        ("check(f(), 4)", [("4", 1)]),
        ("expected = 5\nassert f() == expected", [("expected", 0)]),
        ("assert f() == LIMIT", [("LIMIT", 0)]),
        ("for a, b in [(1, 2), (3, 4)]:\n  assert f(a) == b", [("2", 0), ("4", 0)]),
    ],
)
def test_expected_values_are_found(body: str, found: list[tuple[str, int]]):
    before = "LIMIT = 7\ndef check(a, b):\n    assert a == b\n"
    assert values(body, before) == found


@pytest.mark.parametrize(
    "body",
    [
        "assert f(1)",
        "assert not f() == 1",
        "assert f() != 1",
        "assert f() is not None",
        "assert 'a' not in f()",
        "assert f() == g()",
        "assert f() == 1 or g()",
        "assert 1 + 1 == 2",
        "assert f(fixture) == fixture",
        "f('a')",
        "for a in ['x', 'y']:\n  assert f(a) == a",
        "with suppress(AssertionError):\n  assert f() == 1",
        "with pytest.raises(fixture):\n  assert f() == 1",
        "return\nassert f() == 1",
        "self.assertNotEqual(f(), 1)",
        "self.assertTrue(f() != 1)",
        "self.assertNotContains(r, 'a')",
        "with self.assertRaisesMessage(fixture, fixture):\n  assert f() == 1",
        "x = []\nx.append(1)\nassert f() == x",
    ],
)
def test_what_would_not_fail_the_test_is_no_expected_value(body: str):
    assert values(body) == []


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        ("for x in f():\n  assert f() == 1", 1),
        ("for x in range(2):\n  assert f() == 1", 0),
        ("while f():\n  assert f() == 1", 1),
        ("try:\n  assert f() == 1\nfinally: pass", 0),
        ("try:\n  assert f() == 1\nexcept E: pass", 3),
        ("if f():\n  assert f() == 1", 3),
        ("if f(): return\nassert f() == 1", 3),
        ("def inner():\n  assert f() == 1", 3),
        ("match f():\n  case 1:\n    assert f() == 1", 3),
        ("with f():\n  assert f() == 1", 0),
    ],
)
def test_what_may_not_be_run_is_doubted(body: str, doubt: int):
    assert values(body) == [("1", doubt)]


@pytest.mark.parametrize(
    "before", ["global_ = 1\nN = 1\nN = 2", "N = 1\ndef f():\n    global N", "if x:\n    N = 1"]
)
def test_name_that_may_stand_for_something_else_is_no_expected_value(before: str):
    assert values("assert f() == N", before) == []


def test_without_a_value_the_reason_is_told():
    assert uncontrolled_reasons("def test_a(): pass", "t.py")["test_a"]
    assert uncontrolled_reasons("def test_a(): assert f() == 1", "t.py") == {"test_a": None}
