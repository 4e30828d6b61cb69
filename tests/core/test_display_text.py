import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core.display_text import printable

CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 🐍 text", "plain ünï 🐍 text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended, and all the rest", "0;never ended, and all the rest"),
        ("\x1bcreset", "reset"),
        ("at the end\x1b", "at the end"),
        ("a\nb\tc\rd", "a\\u000ab\\u0009c\\u000dd"),
        ("\x9b31m", "\\u009b31m"),
        ("abc\u202edef", "abc\\u202edef"),
        ("a\u2028b", "a\\u2028b"),
        ("\0\x7f", "\\u0000\\u007f"),
        ("lone \ud800", "lone \\ud800"),
        ("\x1b\x1b[31m[31m", "[31m[31m"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out_or_made_visible(text, shown):
    assert printable(text) == shown


def test_line_ends_and_tabs_stay_where_they_are_wanted():
    assert printable("a\n\tb\r\n", newlines=True) == "a\n\tb\\u000d\n"


@pytest.mark.parametrize(
    ("limit", "shown"), [(None, "12345"), (6, "12345"), (5, "12345"), (4, "123…"), (1, "…")]
)
def test_a_long_text_is_cut_to_its_limit(limit, shown):
    assert printable("12345", limit=limit) == shown


@given(st.text(st.characters(codec=None) | st.sampled_from("\x1b[]0;\x07\\\n\x9b")))
def test_nothing_that_controls_is_left_of_any_text(text):
    shown = printable(text)
    assert not {unicodedata.category(char) for char in shown} & CONTROLS
    assert printable(shown) == shown
    shown.encode()
