import re

import pytest

from logq import Budget, Pattern, PatternError, PatternTooExpensive


def find(pattern, text):
    return Pattern(pattern).find(text)


def test_letters_stand_for_themselves():
    assert find("out", "timed out") == (6, 9)
    assert find("out", "timed in") is None


def test_a_dot_is_anything_but_a_line_feed():
    assert find("a.c", "abc") == (0, 3)
    assert find("a.c", "a\nc") is None


def test_sets_and_their_opposites():
    assert find("[a-c_]+", "xx_abcd") == (2, 6)
    assert find('"[^"]*"', 'say "hi" now') == (4, 8)
    assert find("[]x]", "a]") == (1, 2)
    assert find(r"[\d-]+", "tel 12-34") == (4, 9)


def test_classes():
    assert find(r"\d+", "took 3021 ms") == (5, 9)
    assert find(r"\S+\s\w", "  ab c") == (2, 6)
    assert find(r"1\.5", "1x5 1.5") == (4, 7)


def test_anchors():
    assert find("^ab", "ab ab") == (0, 2)
    assert find("^b", "ab") is None
    assert find("ab$", "ab ab") == (3, 5)
    assert find("^$", "") == (0, 0)


def test_repetition_takes_as_much_as_it_can():
    assert find("a*", "aaab") == (0, 3)
    assert find("a?a", "aa") == (0, 2)
    assert find("(ab)+", "xababab") == (1, 7)
    assert find("a{2,3}", "aaaa") == (0, 3)


def test_counts_are_kept():
    assert find("^a{3}$", "aaa") == (0, 3)
    assert find("^a{3}$", "aa") is None
    assert find("^(ab){2,}$", "ababab") == (0, 6)
    assert find("^(ab){2}$", "ababab") is None


def test_earlier_alternatives_are_preferred():
    assert find("a|ab", "ab") == (0, 1)
    assert find("(a|ab)c", "abc") == (0, 3)
    assert find("ab||x", "x") == (0, 0)


@pytest.mark.parametrize(
    "pattern",
    ["(a|ab)(c|bcd)(d*)", "(a*)*b", "x*y?(z|xy)+", r"(\w+ )*\w+$", "(a?){3}", "[^a]*a"],
    ids=["alternatives", "stars", "mixed", "words", "nothing", "opposite"],
)
def test_what_is_found_is_what_re_finds(pattern):
    for text in ["", "a", "abcd", "aab", "xxyxyz", "two words", "zzxy", "bbba"]:
        found = re.search(pattern, text)
        assert find(pattern, text) == (found and found.span()), text


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", r"a \( without its \) at character 4"),
        ("a)", r"a \) without its \( at character 2"),
        ("*a", r"nothing before the \* at character 1"),
        ("[a", r"a \[ without its \] at character"),
        ("a{3,2}", r"asks for at most 2 and at least 3"),
        ("[z-a]", "the range z-a is the wrong way round"),
    ],
    ids=["open", "close", "star", "set", "braces", "range"],
)
def test_a_pattern_that_cannot_be_read_is_refused(pattern, message):
    with pytest.raises(PatternError, match=message):
        Pattern(pattern)


def test_a_match_takes_few_steps():
    budget = Budget(200)
    assert Pattern(r"^\w+ timed out$").found_in("upstream timed out", budget)
    assert 10 < budget.spent < 50


def test_a_budget_is_kept():
    with pytest.raises(PatternTooExpensive, match="needs more than 20 steps"):
        Pattern("abc").found_in("x" * 100, Budget(20))


def test_a_long_text_needs_no_deep_stack():
    assert Pattern("^(ab|cd)*$").found_in("abcd" * 1500)
