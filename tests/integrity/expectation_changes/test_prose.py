import ast

import pytest

from agentbench.integrity.expectation_changes.disguise import without_prose
from agentbench.python_source.source_text import parse_source
from tests.integrity.expectation_changes.corpus_files import CORPUS


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
