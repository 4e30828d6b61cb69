import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.expectation_changes.disguise import without_prose, write_disguised
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
