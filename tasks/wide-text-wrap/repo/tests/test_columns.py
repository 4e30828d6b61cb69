from colwrap import char_width, pad, table, text_width, truncate


def test_latin_letters_take_one_column():
    assert text_width("hello") == 5
    assert text_width("Grüße") == 5


def test_east_asian_letters_take_two():
    assert text_width("日本語") == 6
    assert text_width("ＡＢ") == 4
    assert text_width("한국") == 4


def test_half_width_kana_take_one():
    assert text_width("ｶﾅ") == 2


def test_combining_marks_take_none():
    assert text_width("e\u0301") == 1
    assert text_width("か\u3099") == 2
    assert char_width("\u3099") == 0


def test_a_soft_hyphen_takes_one():
    assert char_width("\u00ad") == 1


def test_what_fits_is_not_truncated():
    assert truncate("日本", 4) == "日本"


def test_truncation_leaves_room_for_the_ellipsis():
    assert truncate("abcdef", 4) == "abc…"
    assert truncate("日本語テキスト", 9) == "日本語テ…"


def test_truncation_never_splits_a_wide_character():
    assert truncate("日本語", 4) == "日…"
    assert text_width(truncate("日本語", 4)) == 3


def test_an_ellipsis_that_does_not_fit_is_cut():
    assert truncate("abcdef", 2, ellipsis="...") == ".."


def test_padding_counts_columns():
    assert pad("名前", 6) == "名前  "
    assert pad("名前", 6, "right") == "  名前"
    assert pad("ab", 5, "center") == " ab  "
    assert pad("too long", 3) == "too long"


def test_cells_are_wrapped_in_their_columns():
    rows = [["名前", "説明"], ["wrap", "breaks a text"]]
    assert table(rows, [6, 8]) == "名前    説明\nwrap    breaks a\n        text"
