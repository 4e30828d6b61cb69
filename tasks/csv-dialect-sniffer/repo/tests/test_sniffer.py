import pytest

from tabread import Dialect, SniffError, sniff


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":"])
def test_plain_tables(delimiter):
    text = "a,b,c\n1,2,3\n4,5,6\n".replace(",", delimiter)
    assert sniff(text).delimiter == delimiter


def test_quoted_delimiters_do_not_count():
    text = 'name;quote\nAda;"a, b, c"\nAlan;"d, e, f"\n'
    assert sniff(text) == Dialect(";", '"')


def test_doubled_quotes_do_not_end_a_field():
    text = 'who,what\nAda,"said ""one; two; three"""\nAlan,"said ""four; five"";"\n'
    assert sniff(text) == Dialect(",", '"')


def test_single_quotes():
    assert sniff("a|b\n'1|2'|3\n'4|5|6'|7\n") == Dialect("|", "'")


def test_apostrophes_are_not_quotes():
    assert sniff("name,shop\nO'Brien,Murphy's\nO'Neill,'t Hof\n") == Dialect(",", '"')


def test_a_quote_within_a_field_is_ordinary():
    assert sniff('part;size\npipe;5"\ntube;6" or 7"\n').delimiter == ";"


def test_commas_in_numbers_lose_against_semicolons():
    assert sniff("item;price\ntea;2,50\ncake;3\npie;4,20\n").delimiter == ";"


def test_more_columns_win_a_tie():
    assert sniff("9:30,1,2\n9:45,3,4\n").delimiter == ","


def test_a_cut_off_last_line_is_ignored():
    assert sniff("a,b,c\n1,2,3\n4,5,6\n7;;;;;;").delimiter == ","


def test_windows_line_ends():
    assert sniff("a\tb\r\n1\t2\r\n").delimiter == "\t"


def test_one_column():
    assert sniff("name\nAda\nAlan\n") == Dialect(",", '"')
    assert sniff("") == Dialect(",", '"')


def test_no_delimiter_fits():
    with pytest.raises(SniffError, match="no delimiter is used consistently"):
        sniff("once, upon\na time\nin a\nland; far: away\n")
