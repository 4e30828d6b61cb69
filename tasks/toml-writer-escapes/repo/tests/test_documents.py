import datetime
import io
import json
import tomllib

import pytest

from tomlout import Style, TomlWriteError, dump, dumps
from tomlout.__main__ import main


def test_the_example_of_the_readme():
    text = dumps({"title": "demo", "server": {"port": 8080, "hosts": ["a", "b"]}})
    assert text == 'title = "demo"\n\n[server]\nport = 8080\nhosts = ["a", "b"]\n'


def test_plain_values_come_before_tables():
    text = dumps({"table": {"x": 1}, "plain": 2})
    assert text == "plain = 2\n\n[table]\nx = 1\n"


def test_a_table_of_tables_needs_no_header():
    assert dumps({"a": {"b": {"c": 1}}}) == "[a.b]\nc = 1\n"


def test_an_empty_table_keeps_its_header():
    assert dumps({"a": {}}) == "[a]\n"


def test_a_list_of_mappings_is_an_array_of_tables():
    text = dumps({"job": [{"name": "x"}, {"name": "y", "env": {"A": "1"}}]})
    assert text == '[[job]]\nname = "x"\n\n[[job]]\nname = "y"\n\n[job.env]\nA = "1"\n'


def test_a_mixed_list_holds_inline_tables():
    assert dumps({"m": [1, {"a": "x\ny"}, {}]}) == 'm = [1, { a = "x\\ny" }, {}]\n'


def test_a_long_list_is_written_one_item_a_line():
    text = dumps({"long": ["aaaa", "bbbb", ["c", "d"]]}, Style(width=20))
    assert text == 'long = [\n    "aaaa",\n    "bbbb",\n    ["c", "d"],\n]\n'


@pytest.mark.parametrize(
    "value",
    [
        0,
        -(2**63),
        1.0,
        1e22,
        -0.5,
        float("inf"),
        True,
        datetime.date(2024, 2, 29),
        datetime.time(7, 30, 0, 125000),
        datetime.datetime(2024, 2, 29, 7, 30),
        datetime.datetime(2024, 2, 29, 7, 30, tzinfo=datetime.timezone.utc),
        [],
        [[1, 2], ["a"]],
    ],
    ids=["zero", "lowest", "float", "big", "half", "inf", "true", "date", "time", "naive", "aware", "empty", "nested"],
)
def test_values_are_read_back(value):
    assert tomllib.loads(dumps({"deep": {"v": value}})) == {"deep": {"v": value}}


def test_keys_can_be_sorted():
    assert dumps({"b": 1, "a": 2}, Style(sort_keys=True)) == "a = 2\nb = 1\n"


def test_what_has_no_form_is_refused_by_its_place():
    with pytest.raises(TomlWriteError, match=r"^server\.hosts\[1\]: None has no form in TOML$"):
        dumps({"server": {"hosts": ["a", None]}})
    with pytest.raises(TomlWriteError, match=r"^n: 9223372036854775808 does not fit in 64 bits$"):
        dumps({"n": 2**63})
    with pytest.raises(TomlWriteError, match=r"^t: the key 1 is no string$"):
        dumps({"t": {1: "x"}})


def test_nothing_is_written_after_a_refusal():
    file = io.StringIO()
    with pytest.raises(TomlWriteError):
        dump({"good": 1, "bad": None}, file)
    assert file.getvalue() == ""


def test_the_command_turns_json_into_toml(tmp_path, capsys):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"a": {"b": "c"}}), encoding="utf-8")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == '[a]\nb = "c"\n'
