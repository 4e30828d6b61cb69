import pytest

from tabread import Dialect, read
from tabread.__main__ import main


def test_header_and_types():
    table = read("name;born;height;alive\nAda;1815;1.65;false\nAlan;1912;;FALSE\n")
    assert table.header == ["name", "born", "height", "alive"]
    assert table.rows == [["Ada", 1815, 1.65, False], ["Alan", 1912, None, False]]
    assert table.column("born") == [1815, 1912]


def test_a_table_of_numbers_has_no_header():
    table = read("1,2\n3,4\n")
    assert table.header is None
    assert table.rows == [[1, 2], [3, 4]]


def test_codes_keep_their_zeros():
    assert read("town,code\nBern,03000\nGenf,01200\n").column("code") == ["03000", "01200"]


def test_conversion_can_be_left_out():
    assert read("a,b\n1,2\n", convert=False).rows == [["1", "2"]]


def test_a_given_dialect_is_not_questioned():
    table = read("a;b\n1;2\n", Dialect(","))
    assert (table.header, table.rows) == (["a;b"], [["1;2"]])


def test_a_byte_order_mark_is_dropped():
    assert read("\ufeffa,b\nc,1\n").header == ["a", "b"]


def test_unknown_columns():
    with pytest.raises(KeyError, match="z"):
        read("a,b\nc,1\n").column("z")


def test_the_command_line(tmp_path, capsys):
    good = tmp_path / "good.csv"
    good.write_text("a|b\nx|1\n", encoding="utf-8")
    assert main([str(good), str(tmp_path / "none.csv")]) == 1
    out, err = capsys.readouterr()
    assert out == f"{good}: '|' 1 rows (a, b)\n"
    assert "none.csv" in err
