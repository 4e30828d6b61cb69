import ast
import io
import tokenize
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.disguise import without_comments
from agentbench.integrity.expectation_changes.engine import rewrite_tests
from agentbench.python_source.source_text import parse_source
from tests.integrity.expectation_changes.corpus_files import CORPUS


def bare(text: str) -> str:
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
    assert bare(text) == (text.replace("# b", "#") if left is None else left)


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
    assert bare(text) == (text.replace("# six", "#") if left is None else left)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_code_stays_where_it_is(name: str, end: str):
    text = CORPUS[name].replace("\n", end)
    one, other = (ast.dump(ast.parse(t), include_attributes=True) for t in (text, bare(text)))
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
