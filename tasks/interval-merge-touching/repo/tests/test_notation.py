import pytest

from spans import NotationError, parse, parse_set


@pytest.mark.parametrize("text", ["[1, 2]", "(1, 2)", "[1, 2)", "(-inf, 0.5]", "{3}"])
def test_what_is_printed_can_be_read(text):
    assert str(parse(text)) == text


def test_a_set_can_be_read():
    assert str(parse_set("{7} u [1, 2)")) == "[1, 2) u {7}"
    assert str(parse_set("{}")) == "{}"


@pytest.mark.parametrize("text", ["1, 2", "[1; 2]", "[1, 2", "", "[a, b]"])
def test_other_text_is_refused(text):
    with pytest.raises(NotationError, match="not an interval"):
        parse(text)


def test_an_empty_interval_is_refused():
    with pytest.raises(NotationError, match="nothing lies between"):
        parse("(3, 3]")


def test_infinity_cannot_be_a_member():
    with pytest.raises(NotationError, match="infinite end"):
        parse("[0, inf]")
