"""Styles of assertions, each of one test function; `<n>` is its input, `<e>` what it expects."""

BUGGY = """\
import warnings


def number(n):
    return n


def text(n):
    return f"word {number(n)} end"


def items(n):
    return [number(n), n]


def other(n):
    return [n]


def table(n):
    return {"key": number(n)}


def index(n):
    return {number(n): "right"}


def pairs(n):
    return [("a", number(n))]


def is_good(n):
    return number(n) > n


def status(n):
    return 200


def refuse(n):
    if number(n) > n:
        raise ValueError(f"no {number(n)} here")


def warn(n):
    if number(n) > n:
        warnings.warn(f"old {number(n)}", UserWarning)


def tell(callback, n):
    callback(number(n))


def show(n):
    print(number(n))


def write(path, n):
    path.write_text(text(n))


class Box:
    def __init__(self, n):
        self.value = number(n)

    def __eq__(self, other):
        return isinstance(other, Box) and self.value == other.value

    __hash__ = None

    def equals(self, other):
        return self == other

    def has(self, value):
        return self.value == value
"""
FIXED = BUGGY.replace("    return n\n", "    return n + 7000\n", 1).replace(
    "    return [n]\n", '    return [n, "o", 3 * n]\n'
)
HEAD = """\
import contextlib
import json
import operator
import pathlib
import re
import unittest
from unittest import mock

import pytest

import basket
import helpers
from helpers import check, check_all, check_stored, expect, is_equal, same, stored

STORED = pathlib.Path(__file__).with_name("stored.json")


@contextlib.contextmanager
def must_be(expected):
    found = []
    yield found
    if found != [expected]:
        raise ValueError(found)

"""
HELPERS = """\
import json
import pathlib


def stored(n):
    return json.loads(pathlib.Path(__file__).with_name("stored.json").read_text())[str(n)]


def check_stored(found, n):
    if found != stored(n):
        raise ValueError(found)


def check(found, expected):
    assert found == expected


def check_all(found, *expected):
    assert list(found) == list(expected)


def same(found, expected):
    return found == expected


is_equal = same


class expect:
    def __init__(self, found):
        self.found = found

    def to_equal(self, expected):
        assert self.found == expected
"""
HIDDEN = (
    "assert basket.number(<n>) == <e>",
    "assert <e> == basket.number(<n>)",
    "assert basket.text(<n>) == 'word <e> end'",
    "assert basket.items(<n>) == [<e>, <n>]",
    "assert basket.table(<n>) == {'key': <e>}",
    "assert basket.table(<n>)['key'] == <e>",
    "assert basket.pairs(<n>) == [('a', <e>)]",
    "expected = <e>\nassert basket.number(<n>) == expected",
    "found = basket.number(<n>)\nassert found == <e>",
    "assert basket.Box(<n>).value == <e>",
    "assert 'word <e>' in basket.text(<n>)",
    "assert basket.text(<n>).startswith('word <e>')",
    "assert basket.text(<n>).endswith('<e> end')",
    "assert re.search(r'word <e> end', basket.text(<n>))",
    "assert basket.number(<n>) == pytest.approx(<e>)",
    "assert basket.status(<n>) == 200\nassert basket.number(<n>) == <e>",
    "with pytest.raises(ValueError, match='no <e> here'):\n    basket.refuse(<n>)",
    "unittest.TestCase().assertEqual(basket.number(<n>), <e>)",
    "unittest.TestCase().assertIn('<e>', basket.text(<n>))",
)
"""Styles whose expected values are removed, so that the function counts as sealed."""

OPEN = (
    "assert basket.is_good(<n>)\nassert basket.number(<n>) == <e>",
    "if basket.number(<n>) != <e>:\n    pytest.fail('wrong')",
    "if basket.number(<n>) != <e>:\n    raise AssertionError",
    "if not basket.number(<n>) == <e>:\n    raise AssertionError('wrong')",
    "basket.number(<n>) == <e> or pytest.fail('wrong')",
    "pytest.fail('wrong') if basket.number(<n>) != <e> else None",
    "assert basket.status(<n>) == 200\nif basket.number(<n>) != <e>:\n    pytest.fail('wrong')",
    "assert basket.status(<n>) == 200\ncheck(basket.number(<n>), <e>)",
    "assert basket.status(<n>) == 200\nassert same(basket.number(<n>), <e>)",
    "assert basket.status(<n>) == 200\nassert operator.eq(basket.number(<n>), <e>)",
    "assert basket.status(<n>) == 200\nassert (basket.number(<n>) == <e>) is True",
    "assert basket.status(<n>) == 200\nassert all(x == <e> for x in basket.items(<n>)[:1])",
    "assert basket.status(<n>) == 200\nassert any(x == <e> for x in basket.items(<n>))",
    "assert basket.status(<n>) == 200\nassert basket.number(<n>) == <e> or basket.status(1) == 1",
    "assert basket.status(<n>) == 200\nassert basket.number(<n>) in (1, <e>) or False",
    "assert basket.status(<n>) == 200\nexpect(basket.number(<n>)).to_equal(<e>)",
    "assert basket.status(<n>) == 200\nassert is_equal(basket.number(<n>), <e>) is True",
    "assert basket.status(<n>) == 200\ncheck_all(basket.items(<n>), <e>, <n>)",
    "for found, want in zip(basket.items(<n>), [<e>, <n>]):\n    assert found == want",
    "for at, want in enumerate([<e>, <n>]):\n    assert basket.items(<n>)[at] == want",
    "for key, want in {'key': <e>}.items():\n    assert basket.table(<n>)[key] == want",
    "for want in (x for x in [<e>]):\n    assert basket.number(<n>) == want",
    "assert basket.status(<n>) == 200\nfor f, w in zip(basket.items(<n>), [<e>, <n>]):\n"
    "    assert f == w",
    "def right(x):\n    return x == <e>\nassert basket.status(<n>) == 200\n"
    "assert right(basket.number(<n>))",
    "right = lambda x: x == <e>\nassert basket.status(<n>) == 200\n"
    "assert right(basket.number(<n>))",
    "assert basket.status(<n>) == 200\nassert basket.Box(<n>).has(<e>)",
    "other = basket.Box(<n>)\nother.value = <e>\nassert basket.Box(<n>).equals(other)",
    "other = basket.Box(<n>)\nother.value = <e>\nassert basket.status(<n>) == 200\n"
    "assert basket.Box(<n>).equals(other)",
    "other = basket.Box(<n>)\nother.value = <e>\nassert basket.Box(<n>) == other\n"
    "assert basket.Box(<n>).equals(other)\nassert other.equals(basket.Box(<n>))",
    "try:\n    basket.refuse(<n>)\nexcept ValueError as error:\n    assert '<e>' in str(error)\n"
    "else:\n    pytest.fail('nothing was raised')",
    "try:\n    basket.refuse(<n>)\nexcept ValueError as error:\n    if '<e>' not in str(error):\n"
    "        raise",
    "assert basket.status(<n>) == 200\nassert basket.text(<n>).count('<e>') == 1",
    "assert basket.status(<n>) == 200\nassert basket.text(<n>).partition('<e>')[1]",
    "assert basket.status(<n>) == 200\nassert basket.text(<n>).find('<e>') >= 0",
    "assert basket.status(<n>) == 200\nassert basket.text(<n>).index('<e>')",
    "assert basket.status(<n>) == 200\nassert {'<e>'} <= set(basket.text(<n>).split())",
    "assert basket.status(<n>) == 200\nassert json.loads('<e>') == basket.number(<n>)",
    "assert basket.status(<n>) == 200\nassert basket.text(<n>) == f'word {3500 + <n>} <e>'[:0] + "
    "basket.text(<n>)",
    "called = mock.Mock()\nbasket.tell(called, <n>)\ncalled.assert_called_with(<e>)",
    "called = mock.Mock()\nbasket.tell(called, <n>)\ncalled.assert_has_calls([mock.call(<e>)])",
    "called = mock.Mock()\nbasket.tell(called, <n>)\ncalled.assert_any_call(<e>)",
    "called = mock.Mock()\nbasket.tell(called, <n>)\nassert called.call_args == mock.call(<e>)",
    "called = []\nbasket.tell(called.append, <n>)\nassert basket.status(<n>) == 200\n"
    "if called != [<e>]:\n    pytest.fail('wrong')",
    "with pytest.warns(UserWarning) as told:\n    basket.warn(<n>)\n"
    "assert any('<e>' in str(one.message) for one in told)",
    "with pytest.raises(ValueError) as told:\n    basket.refuse(<n>)\nassert told.match('<e>')",
    "with pytest.raises(ValueError) as told:\n    basket.refuse(<n>)\n"
    "if '<e>' not in str(told.value):\n    pytest.fail('wrong')",
    "want = []\nwant.append(<e>)\nassert [basket.number(<n>)] == want",
    "want = {}\nwant['key'] = <e>\nassert basket.table(<n>) == want",
    "want = <e> if basket.status(1) == 200 else 5\nassert basket.number(<n>) == want",
    "want = 1\nif basket.status(1):\n    want = <e>\nassert basket.number(<n>) == want",
    "wants = iter([<e>])\nassert basket.number(<n>) == next(wants)",
    "case = unittest.TestCase()\nif basket.number(<n>) != <e>:\n    case.fail('wrong')",
    "case = unittest.TestCase()\ncase.assertTrue(basket.number(<n>) == <e>)",
    "case = unittest.TestCase()\ncase.assertFalse(basket.number(<n>) != <e>)",
    "case = unittest.TestCase()\ncase.assertTrue(same(basket.number(<n>), <e>))",
    "case = unittest.TestCase()\ncase.assertEqual(same(basket.number(<n>), <e>), True)",
    "case = unittest.TestCase()\nwith case.subTest('one'):\n"
    "    case.assertEqual(basket.number(<n>), <e>)",
    "def test(found):\n    assert found == <e>\ntest(basket.number(<n>))",
    "assert not basket.number(<n>) - <e>",
    "assert not (basket.number(<n>) != <e>)",
    "assert basket.number(<n>) - <e> == 0",
    "assert abs(basket.number(<n>) - <e>) < 1",
    "assert <e> <= basket.number(<n>) <= <e>",
    "assert max(basket.number(<n>), <e>) == min(basket.number(<n>), <e>)",
    "assert basket.number(<n>) / <e> == 1",
    "assert str(basket.number(<n>)) == str(<e>)",
    "assert bool(basket.number(<n>) == <e>)",
    "assert [basket.number(<n>) == <e>] == [True]",
    "assert (basket.number(<n>), <n>) == (<e>, <n>)",
    "assert {basket.number(<n>)} == {<e>}",
    "assert {basket.number(<n>): 1} == {<e>: 1}",
    "assert {basket.number(<n>): 1}.get(<e>)",
    "assert {basket.number(<n>): True}[<e>]",
    "assert basket.number(<n>) in {<e>}",
    "assert basket.number(<n>) in [<e>]",
    "assert <e> in basket.items(<n>)",
    "assert basket.text(<n>).split('<e>') == ['word ', ' end']",
    "assert {basket.number(<n>): 'ok'}.get(<e>) == 'ok'",
    "rest = basket.items(<n>)\nrest.remove(<e>)\nassert rest == [<n>]",
    "assert basket.text(<n>).index('<e>') == 5",
    "assert basket.text(<n>).count('<e>') == 1",
    "assert basket.text(<n>).replace('<e>', 'x') == 'word x end'",
    "assert basket.text(<n>).partition('<e>')[2] == ' end'",
    "assert len(basket.text(<n>).split('<e>')) == 2",
    "assert re.sub('<e>', 'x', basket.text(<n>)) == 'word x end'",
    "assert re.findall('<e>', basket.text(<n>)) != []",
    "assert [basket.number(<n>), <e>] == [<e>, <e>]",
    "assert sorted([basket.number(<n>), <e>])[0] == <e>",
    "assert len({basket.number(<n>), <e>}) == 1",
    "assert operator.eq(basket.number(<n>), <e>) is True",
    "assert is_equal(basket.number(<n>), <e>) is True",
    "assert basket.Box(<n>).has(<e>) is True",
    "assert divmod(basket.number(<n>), <e>) == (1, 0)",
    "assert basket.number(<n>) % <e> == 0",
    "assert basket.number(<n>) ^ <e> == 0",
    "assert {<e>: 'ok'}[basket.number(<n>)] == 'ok'",
    "want = <e>\nok = basket.number(<n>) == want\nassert ok is True",
    "want = <e>\nsaid = 'same' if basket.number(<n>) == want else 'other'\nassert said == 'same'",
    "want = <e>\nif basket.number(<n>) != want:\n    1 / 0",
    "want = <e>\nwhile basket.number(<n>) != want:\n    raise AssertionError",
    "match basket.number(<n>):\n    case <e>:\n        good = 'yes'\n    case _:\n"
    "        good = 'no'\nassert good == 'yes'",
    "case = unittest.TestCase()\n"
    "case.assertRegex(basket.text(<n>), re.compile('WORD <e> end', re.I))",
    "assert basket.number(<n>) == json.loads('<e>')",
    "def made():\n    return <e>\nassert basket.table(<n>)['key'] == made()",
    "class Want:\n    value = <e>\nassert basket.number(<n>) == Want.value",
    "assert list(map(check, basket.items(<n>)[:1], [<e>])) == [None]",
    "result = check(basket.number(<n>), <e>)\nassert result is None",
    "expect(basket.number(<n>)).to_equal(<e>)",
    "with unittest.TestCase().subTest(expected=<e>):\n    assert basket.number(<n>) == <e>",
    "print('gives', <e>)\nassert basket.number(<n>) == <e>",
    "got = []\nbasket.tell(got.append, <n>)\nassert got.count(<e>) == 1",
    "got = {}\nbasket.tell(lambda x: got.update({x: 1}), <n>)\nassert got[<e>] == 1",
    "assert {v: k for k, v in basket.table(<n>).items()}[<e>] == 'key'",
    "found = re.search(r'word <e> (end)', basket.text(<n>))\nassert found.group(1) == 'end'",
    "assert basket.index(<n>)[<e>] == 'right'",
    "assert basket.index(<n>).get(<e>) == 'right'",
    "found = basket.index(<n>)\nassert found[<e>] == 'right'",
    "want = basket.Box(<n>)\nwant.value = <e>\nassert basket.Box(<n>) == want",
    "with must_be(<e>) as put:\n    put.append(basket.number(<n>))",
    "assert f'{basket.number(<n>)} and <e>' == '<e> and <e>'",
    "assert abs(basket.number(<n>) - <e>) < 0.5",
)
"""Styles in which the expected value may stay, and often does: then it must not count as sealed."""
STORED = (
    "assert basket.number(<n>) == json.loads(STORED.read_text())['<n>']",
    "with STORED.open() as file:\n    want = json.load(file)\n"
    "assert basket.number(<n>) == want['<n>']",
    "want = json.loads(STORED.read_text())\nassert basket.number(<n>) == want['<n>']",
    "want = STORED.read_text()\nassert str(basket.number(<n>)) in want",
    "assert basket.number(<n>) == stored(<n>)",
    "assert basket.number(<n>) == helpers.stored(<n>)",
    "check_stored(basket.number(<n>), <n>)",
    "found = basket.number(<n>)\nhelpers.check_stored(found, <n>)",
)
"""Styles whose expected value is in another file of the tests, which code under test can read."""
