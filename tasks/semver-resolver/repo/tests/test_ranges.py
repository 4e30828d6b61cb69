import pytest

from depsolve import InvalidRange, Range, Version


def bounds(text):
    return [" ".join(map(str, each)) for each in Range.parse(text).alternatives]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("^1.2.3", ">=1.2.3 <2.0.0"),
        ("^0.2.3", ">=0.2.3 <0.3.0"),
        ("^0.0.3", ">=0.0.3 <0.0.4"),
        ("^0.0", ">=0.0.0 <0.1.0"),
        ("^0", ">=0.0.0 <1.0.0"),
        ("~1.2.3", ">=1.2.3 <1.3.0"),
        ("~1", ">=1.0.0 <2.0.0"),
        ("1.x", ">=1.0.0 <2.0.0"),
        ("1.2.*", ">=1.2.0 <1.3.0"),
        ("*", ">=0.0.0"),
        ("1.2.3", "=1.2.3"),
        (">=1.2 <2", ">=1.2.0 <2.0.0"),
    ],
)
def test_a_range_expands_to_bounds(text, expected):
    assert bounds(text) == [expected]


def test_alternatives_are_read():
    assert bounds("1.x || ^3.1") == [">=1.0.0 <2.0.0", ">=3.1.0 <4.0.0"]


def test_a_prerelease_needs_a_bound_that_names_one():
    wanted = Range.parse(">=2.0.0-beta.1")
    assert wanted.admits(Version.parse("2.0.0-rc.1"))
    assert wanted.admits(Version.parse("2.1.0"))
    assert not wanted.admits(Version.parse("2.1.0-rc.1"))


@pytest.mark.parametrize("text", ["", "one", ">=", "1.2-rc.1", "1.2.3 ||"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(InvalidRange):
        Range.parse(text)
