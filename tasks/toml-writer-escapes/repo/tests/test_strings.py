import tomllib

import pytest

from tomlout import Style, TomlWriteError, dumps


def written(text, **style):
    return dumps({"s": text}, Style(**style))


def test_a_plain_string():
    assert written("hello") == 's = "hello"\n'


def test_quotes_and_backslashes_are_escaped():
    assert written('say "hi"') == 's = "say \\"hi\\""\n'
    assert written("C:\\temp\\new") == 's = "C:\\\\temp\\\\new"\n'


def test_control_characters_are_escaped():
    assert written("a\tb\x1b[0m\x00\x7f") == 's = "a\\tb\\u001b[0m\\u0000\\u007f"\n'
    assert written("a\rb") == 's = "a\\rb"\n'


def test_letters_beyond_ascii_stand_as_they_are():
    assert written("Grüße 🌍") == 's = "Grüße 🌍"\n'


def test_line_feeds_make_a_string_of_many_lines():
    assert written("one\ntwo\n") == 's = """\none\ntwo\n"""\n'


def test_line_feeds_are_escaped_when_many_lines_are_not_wanted():
    assert written("one\ntwo\n", multiline=False) == 's = "one\\ntwo\\n"\n'


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "\n\nafter two",
        'quote at the end\n"',
        'a """docstring"""\nwithin',
        '""""""\n""',
        "back\\slash\nat the end\\",
        "\\\n  no continuation",
        "\ttabs\n\tstay",
    ],
    ids=["feed", "feeds", "quote", "quotes", "only-quotes", "backslash", "continuation", "tabs"],
)
def test_many_lines_are_read_back(text):
    assert tomllib.loads(written(text)) == {"s": text}


def test_many_lines_in_an_array_stay_on_one():
    assert dumps({"a": ["one\ntwo"]}) == 'a = ["one\\ntwo"]\n'


def test_a_lone_surrogate_is_refused():
    with pytest.raises(TomlWriteError, match="s: a lone surrogate at character 1"):
        written("a\ud800")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("plain", "plain"), ("with-dash_1", "with-dash_1"), ("", '""'), ("a.b", '"a.b"'), ("é", '"é"'), ('q"', '"q\\""'), ("a\nb", '"a\\nb"')],
    ids=["plain", "dash", "empty", "dot", "accent", "quote", "newline"],
)
def test_keys_are_quoted_where_they_must_be(name, expected):
    text = dumps({name: 1})
    assert text == f"{expected} = 1\n"
    assert tomllib.loads(text) == {name: 1}
