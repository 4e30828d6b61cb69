import ast
from random import Random

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests


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
