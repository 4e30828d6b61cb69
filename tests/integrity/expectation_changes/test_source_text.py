import ast
import warnings

import pytest

from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.source_text import parse_source


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_nodes_are_found_whatever_the_lines_are_made_of(end: str):
    text = end.join(["x = 1", "größe = ['日本', 'é'] + [", "\x0c  '🌍\u2028', b'z']", ""])
    source = parse_source(text, "t.py")
    found = [source.segment(n) for n in ast.walk(source.tree) if isinstance(n, ast.Constant)]
    assert sorted(found) == sorted(["1", "'日本'", "'é'", "'🌍\u2028'", "b'z'"])


def test_a_byte_order_mark_does_not_count():
    source = parse_source("\ufeffx = 'a'", "t.py")
    assert source.segment(source.tree.body[0]) == "x = 'a'"


def test_lines_are_known_by_their_numbers():
    source = parse_source("a\r\nb\nc", "t.py")
    assert [source.line_start(n) for n in (1, 2, 3)] == [0, 3, 5]
    assert [source.line_of(offset) for offset in (0, 2, 3, 5)] == [1, 1, 2, 3]
    assert [source.line(n) for n in (1, 2, 3)] == ["a", "b", "c"]
    assert source.line_count == 3
    assert [source.line_end(n) for n in (1, 2, 3)] == ["\r\n", "\n", "\n"]


def test_a_fault_names_file_and_line():
    with pytest.raises(InputError, match=r"^a/t\.py: line 2: .*; give valid Python$"):
        parse_source("x = 1\ny = = 2\n", "a/t.py")


def test_an_unknown_escape_is_no_fault_and_warns_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_source("x = '\\d'", "t.py").text == "x = '\\d'"
