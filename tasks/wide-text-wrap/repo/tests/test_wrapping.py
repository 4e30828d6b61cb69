import io

import pytest

from colwrap import fill, text_width, wrap
from colwrap.__main__ import main


def test_words_move_to_the_next_line():
    assert wrap("the quick brown fox", 9) == ["the quick", "brown fox"]


def test_wide_letters_count_twice():
    assert wrap("日本語 and English", 8) == ["日本語", "and", "English"]


def test_a_line_may_break_between_wide_letters():
    assert wrap("これは長い文章です", 8) == ["これは長", "い文章で", "す"]


def test_a_wide_letter_does_not_straddle_the_edge():
    assert wrap("日本語テ", 5) == ["日本", "語テ"]


def test_closing_punctuation_does_not_start_a_line():
    assert wrap("これです。あ", 8) == ["これで", "す。あ"]


def test_opening_punctuation_does_not_end_a_line():
    assert wrap("これは「あ」", 8) == ["これは", "「あ」"]


def test_latin_words_within_wide_text_stay_whole():
    assert wrap("日本Python語", 8) == ["日本", "Python語"]


def test_a_long_word_is_cut():
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("ab cdefghij", 4) == ["ab", "cdef", "ghij"]


def test_accents_that_are_composed_take_no_room():
    assert wrap("éééééé", 3) == ["ééé", "ééé"]


def test_accented_words_are_not_broken_early():
    assert wrap("cafe\u0301 cre\u0300me", 5) == ["cafe\u0301", "cre\u0300me"]


def test_marks_on_wide_letters_stay_with_them():
    assert wrap("か\u3099き\u3099く\u3099", 4) == ["か\u3099き\u3099", "く\u3099"]


def test_line_feeds_are_kept():
    assert wrap("one\n\ntwo three", 5) == ["one", "", "two", "three"]


def test_indents_count():
    assert wrap("alpha beta gamma", 9, indent="* ", hanging="  ") == ["* alpha", "  beta", "  gamma"]


def test_a_letter_wider_than_the_line_stands_alone():
    assert wrap("日本", 1) == ["日", "本"]


def test_no_line_is_too_wide():
    text = "混ぜた text です。とても longwordwithoutspaces 長い。"
    for columns in range(4, 30):
        assert max(map(text_width, wrap(text, columns))) <= columns


def test_an_indent_must_leave_room():
    with pytest.raises(ValueError, match="no room for text: 4 columns and an indent of 4"):
        wrap("text", 4, hanging="    ")


def test_the_filter_wraps_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("one two\n日本語\n"))
    assert main(["4"]) == 0
    assert capsys.readouterr().out == "one\ntwo\n日本\n語\n"


def test_fill_joins_lines():
    assert fill("one two", 3) == "one\ntwo"
