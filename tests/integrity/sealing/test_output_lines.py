"""Lines of an output that match patterns, as pytest's own LineMatcher would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.sealing.checks import LineOrder
from agentbench.integrity.sealing.equality import Agreement
from agentbench.integrity.sealing.output_lines import is_telling, match, patterns_of

LINES = st.lists(st.sampled_from(["", "a", "ab", "[a]", "a*", "b.c"]), max_size=4)
PATTERNS = st.lists(st.sampled_from(["", "*", "a", "a*", "?b", "[a]", "[[]a]", ".*b"]), max_size=3)
METHODS = {
    LineOrder.AS_GIVEN: "{}match_lines",
    LineOrder.CONSECUTIVE: "{}match_lines",
    LineOrder.ANY: "{}match_lines_random",
    LineOrder.NOWHERE: "no_{}match_line",
}


def agrees_with_pytest(lines, patterns, order, prefix):
    matcher = pytest.LineMatcher(lines)
    method = getattr(matcher, METHODS[order].format(prefix))
    options = {"consecutive": True} if order is LineOrder.CONSECUTIVE else {}
    try:
        for argument in patterns if order is LineOrder.NOWHERE else [patterns]:
            method(argument, **options)
    except pytest.fail.Exception:
        return Agreement.NO
    return Agreement.YES


@given(LINES, PATTERNS, st.sampled_from(LineOrder))
def test_matches_are_those_of_pytest(lines, patterns, order):
    expected = agrees_with_pytest(lines, patterns, order, "fn")
    assert match(lines, patterns, order, is_regex=False) is expected


@given(LINES, st.lists(st.sampled_from(["", "a", "a*$", ".b", r"\[a\]", "b|a"]), max_size=3))
def test_regular_expressions_match_as_those_of_pytest(lines, patterns):
    for order in LineOrder:
        expected = agrees_with_pytest(lines, patterns, order, "re_")
        assert match(lines, patterns, order, is_regex=True) is expected


def test_invalid_pattern_matches_nothing_for_certain():
    assert match(["a"], ["("], LineOrder.ANY, is_regex=True) is Agreement.UNKNOWN


@pytest.mark.parametrize("text", ["*1 passed*", "\n    *a*\n    b\n", "a\n\n  b\n", ""])
def test_text_has_a_pattern_in_each_line(text):
    assert patterns_of(text) == list(pytest.LineMatcher([])._getlines(text))


def test_other_values_are_no_patterns():
    assert patterns_of(["a", "b"]) == ["a", "b"]
    assert patterns_of(["a", 1]) is None
    assert patterns_of(None) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*MyModule*", True), ("*2 passed*", True), ("*1 passed*", False), ("*1 failed in*", False),
        ("*FAILED*", False), ("*", False), ("*[a-z]*", False), (r".*\d+ .*", False), ("x", False),
        ("*1 failed, 1 passed in*", True), ("*1 xfailed*", True),
    ],
)  # fmt: skip
def test_pattern_that_many_outputs_match_tells_little(pattern, expected):
    assert is_telling(pattern) is expected
