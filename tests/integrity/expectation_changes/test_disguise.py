import ast
import io
import tokenize
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.disguise import (
    without_comments,
    without_prose,
    write_disguised,
)
from agentbench.integrity.expectation_changes.engine import rewrite_tests
from agentbench.python_source.source_text import parse_source
from tests.integrity.expectation_changes.corpus_files import CORPUS

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
def test_written_value_is_the_same(value: object):
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


def test_set_has_the_same_text_in_every_process():
    assert write_disguised({"c", "a", "b"}) == "({'a', 'b', 'c'})"


def bare(text: str) -> str:
    return without_prose(parse_source(text, "t.py"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('def test():\n    """It is 6."""\n    assert f() == 6\n', '    ("")\n'),
        ("def test():\n    'It\\\nis 6.'\n    x()\n", '    (""\n)\n    x()'),
        ("class A:\n    def test(self): 'It is 6.'; f()\n", '(self): (""); f()'),
        ("async def test():\n    assert f() == 6, 'no 6'\n", 'f() == 6, ("")\n'),
        ("def test():\n    if x:\n        assert f(), f'no {6}'\n", 'f(), ("")\n'),
        ("def test():\n    assert f(), (\n        'no 6'\n    )\n", 'f(), (\n        ("")\n    )'),
    ],
)
def test_tests_lose_what_they_say_to_a_reader(text: str, left: str):
    assert left in bare(text)
    assert "6." not in bare(text)
    assert "no" not in bare(text)
    assert bare(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "def test():\n    '''\n    >>> 1 + 5\n    6\n    '''\n",
        "def helper():\n    'It is 6.'\n    assert f(), 'no 6'\n",
        "'It is 6.'\nclass A:\n    'It is 6.'\n",
        "def test():\n    x = 'It is 6.'\n    'It is 6.'\n",
        "def test():\n    'It is 6.'\n    assert test.__doc__\n",
        "def test():\n    'It is 6.'\n    assert inspect.getdoc(f)\n",
        "def test():\n    with raises(AssertionError, match='6'):\n        assert f(), '6'\n",
    ],
    ids=["doctest", "helper", "others", "text", "__doc__", "getdoc", "message"],
)
def test_what_may_be_read_by_code_stays(text: str):
    assert bare(text) == text


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_code_stays_on_its_line(name: str):
    text = CORPUS[name]
    ast.parse(bare(text))
    assert bare(text).count("\n") == text.count("\n")


def comment_bare(text: str) -> str:
    return without_comments(parse_source(text, "t.py"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = 1  # must be 6\n", "x = 1  #\n"),
        ("# must be 6", "#"),
        ("x = '# a'  # b # c\n", "x = '# a'  #\n"),
        ("x = '''\n# a\n''' # b\n", "x = '''\n# a\n''' #\n"),
        ("def f():\n    '''>>> 1  # doctest: +SKIP'''\n    # b\n", None),
        ("f(  # é\n 1,\t# 日本\n)\n", "f(  #\n 1,\t#\n)\n"),
        ("x = 1 # a\r\ny = 2 # b\r\n", "x = 1 #\r\ny = 2 #\r\n"),
        ("x = 1 # a\ry = '''\r''' # b", "x = 1 #\ry = '''\r''' #"),
        ("\x0cx = 1 # a\x0c\n\x0c# b\n", "\x0cx = 1 #\n\x0c#\n"),
        ("größe = f'# {1} #'  # a", "größe = f'# {1} #'  #"),
        ("if x:\n\ty = 1\n  # a\n# b\n\tz = 2\n", "if x:\n\ty = 1\n  #\n#\n\tz = 2\n"),
        ("\ufeff# a\n", "#\n"),
        ("", ""),
    ],
)
def test_nothing_is_left_of_comments_but_their_signs(text: str, left: str | None):
    assert comment_bare(text) == (text.replace("# b", "#") if left is None else left)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("# coding: latin-1\n# six\n", "# coding: latin-1\n#\n"),
        ("#!/bin/python  six\n# -*- coding=utf-8 -*-\n# six\n", None),
        ("\n# vim: fileencoding=utf-8\n# coding: six\n", "\n# vim: fileencoding=utf-8\n#\n"),
        ("x = 1\n# coding: six\n", "x = 1\n#\n"),
        ("x = 1  # coding: six\n", "x = 1  #\n"),
        ("\n#!/bin/six\n", "\n#\n"),
        ("\n\n# coding: six\n", "\n\n#\n"),
    ],
)
def test_what_the_interpreter_reads_is_kept(text: str, left: str | None):
    assert comment_bare(text) == (text.replace("# six", "#") if left is None else left)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_code_stays_where_it_is(name: str, end: str):
    text = CORPUS[name].replace("\n", end)
    one, other = (
        ast.dump(ast.parse(t), include_attributes=True) for t in (text, comment_bare(text))
    )
    assert one == other


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_no_comment_has_a_text_in_a_blind_run(name: str):
    source = rewrite_tests(CORPUS[name], name, [], Random(1), listed=()).source
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            assert token.string == "#" or token.start[0] < 3
    assert source.count("\n") == CORPUS[name].count("\n")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1'\"()[]{}:=,.\\ \n\r\t\x0cé#"), max_size=50))
def test_what_can_be_parsed_keeps_its_meaning(body: str):
    text = f"def test():\n assert f() == 1; {body}"
    try:
        source = parse_source(text, "t.py")
    except InputError:
        return
    bare_tree = parse_source(without_comments(source), "t.py").tree
    assert ast.dump(bare_tree, include_attributes=True) == ast.dump(
        source.tree, include_attributes=True
    )


def disguised(text: str) -> str:
    return rewrite_tests(text, "t.py", [], Random(1)).source


@pytest.mark.parametrize(
    "text",
    [
        '"""A module."""\n',
        "def f():\n    'A function.'\n",
        "class C:\n    'A class.'\n    'More.'\n",
        "def f(a: 'int', *, b: Literal['x']) -> 'str': ...\n",
        "x: Literal['a']\n",
        "match x:\n    case 1 | 'a' | {'k': None} | C(a=-1): pass\n",
        "f'{x!r:>{1}} a'\ny = f'{x[1]}' 'b'\n",
        "from __future__ import annotations\n",
        "x is 'a'\nx is not 1\n",
        "...\n",
    ],
)
def test_what_must_stand_as_it_is_is_left_alone(text: str):
    assert disguised(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "def f(a=1, *, b='x'): pass\n",
        "x: int = 1\n",
        "@d('a')\ndef f(): pass\n",
        "x[1:'a'] = y\n",
        "assert x, 'message'\n",
        "x is None\n",
        "class C:\n    a = b'x'\n",
        "lambda x=1: 'a'\n",
        "f(*[1], **{'a': 2})\n",
        "return_ = [y := 3]\n",
        "match 'a':\n    case _: x = 1\n",
    ],
)
def test_every_other_constant_is_written_otherwise(text: str):
    constants = [repr(n.value) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    source = disguised(text)
    assert constants
    assert source.count("(") >= text.count("(") + len(constants)


def test_lines_keep_their_numbers():
    text = "x = ('a'\n     'b')\ny = '''c\nd'''\nz = 1\n"
    (last,) = ast.parse(disguised(text)).body[-1:]
    assert last.lineno == 5
