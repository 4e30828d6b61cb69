import pytest

from tabread import Dialect, ReadError, records


def test_fields_and_records():
    assert list(records("a,b\nc,\n")) == [["a", "b"], ["c", ""]]


def test_the_last_line_end_may_be_missing():
    assert list(records("a,b\nc,d")) == [["a", "b"], ["c", "d"]]


def test_blank_lines_are_skipped():
    assert list(records("a\r\n\r\nb\r\rc\n")) == [["a"], ["b"], ["c"]]


def test_quoted_fields():
    assert list(records('"a,b","c ""d"""\n')) == [["a,b", 'c "d"']]


def test_quoted_fields_may_span_lines():
    assert list(records('1,"x\ny"\n2,"z"\n')) == [["1", "x\ny"], ["2", "z"]]


def test_a_quote_within_a_field_is_ordinary():
    assert list(records('5" pipe,6\n')) == [['5" pipe', "6"]]


def test_the_dialect_decides():
    assert list(records("'a;b';c,d", Dialect(";", "'"))) == [["a;b", "c,d"]]


def test_an_open_quote_is_reported_where_it_opens():
    with pytest.raises(ReadError, match="line 2: the quoted field is not closed"):
        list(records('a,b\nc,"d\ne,f\n'))


def test_text_after_a_closing_quote_is_reported():
    with pytest.raises(ReadError, match="line 1: text follows the closing quote"):
        list(records('"a"b,c\n'))


@pytest.mark.parametrize("wrong", [{"delimiter": ""}, {"quote": "\n"}, {"delimiter": '"'}])
def test_impossible_dialects(wrong):
    with pytest.raises(ValueError, match="must"):
        Dialect(**wrong)
