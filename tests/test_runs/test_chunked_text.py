import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.test_runs.chunked_text import CompressedText, chunks_of, joined, lines_of


def packed(data):
    return CompressedText(io.BytesIO(data).read)


@given(st.binary(max_size=3000))
def test_a_packed_text_is_the_text_with_what_is_no_utf8_replaced(data):
    assert joined(packed(data)) == data.decode("utf-8", "replace")
    assert len(packed(data)) == len(data)


def test_a_character_across_two_chunks_is_whole():
    data = ("x" + "\u20ac" * 300_000).encode()
    text = packed(data)
    assert joined(text) == data.decode()
    assert len(list(chunks_of(text))) > 2


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\u2028c\n\nd", "\n"])
def test_nothing_but_a_newline_ends_a_line(text):
    expected = list(io.StringIO(text, newline="\n"))
    assert list(lines_of(text)) == expected
    assert list(lines_of(packed(text.encode()))) == expected


def test_long_lines_cross_chunks():
    lines = ["a" * 500_000 + "\n", "b\n", "c" * 700_000]
    assert list(lines_of(packed("".join(lines).encode()))) == lines
