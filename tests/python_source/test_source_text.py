import ast
import warnings

import pytest

from agentbench.errors import InputError
from agentbench.python_source.source_text import (
    SourceEdit,
    SourceSpan,
    apply_edits,
    edit_keeping_lines,
    parse_source,
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_nodes_are_found_with_any_line_ends(end: str):
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


def test_unknown_escape_is_accepted_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_source("x = '\\d'", "t.py").text == "x = '\\d'"


def edit(start: int, end: int, text: str, rank: int = 0) -> SourceEdit:
    return SourceEdit(span=SourceSpan(start, end), text=text, rank=rank)


def test_edits_are_made_in_the_order_of_the_text():
    assert apply_edits("abcdef", [edit(4, 5, "Y"), edit(1, 2, "X")]) == "aXcdYf"


def test_an_outer_edit_takes_the_place_of_those_within():
    assert apply_edits("abcdef", [edit(2, 3, "X"), edit(1, 5, "-")]) == "a-f"


def test_of_two_edits_of_one_piece_the_higher_rank_counts():
    for order in (1, -1):
        edits = [edit(1, 2, "low"), edit(1, 2, "high", rank=2)][::order]
        assert apply_edits("abc", edits) == "ahighc"


def test_an_insertion_stands_before_what_is_replaced_there():
    assert apply_edits("abc", [edit(1, 2, "X"), edit(1, 1, "+")]) == "a+Xc"


def test_a_replacement_keeps_the_number_of_lines():
    source = parse_source("x = ('a'\n 'b')\n", "t.py")
    done = edit_keeping_lines(source, SourceSpan(5, 13), "('ab')")
    assert apply_edits(source.text, [done]) == "x = (('ab'\n))\n"
