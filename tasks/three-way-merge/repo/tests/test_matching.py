import random

import pytest

from trimerge import Match, matches


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("", "", []),
        ("abc", "abc", [Match(0, 0, 3)]),
        ("abc", "axc", [Match(0, 0, 1), Match(2, 2, 1)]),
        ("abc", "xyz", []),
        ("abcd", "bcd", [Match(1, 0, 3)]),
        ("ac", "abbc", [Match(0, 0, 1), Match(1, 3, 1)]),
    ],
)
def test_matches(left, right, expected):
    assert matches(list(left), list(right)) == expected


def longest_common_length(left, right):
    row = [0] * (len(right) + 1)
    for a in left:
        before = row[:]
        for j, b in enumerate(right):
            row[j + 1] = before[j] + 1 if a == b else max(row[j], before[j + 1])
    return row[-1]


@pytest.mark.parametrize("seed", range(5))
def test_no_longer_match_exists(seed):
    dice = random.Random(seed)
    for _ in range(40):
        left, right = (dice.choices("abc", k=dice.randrange(12)) for _ in range(2))
        found = matches(left, right)
        for run in found:
            end_left, end_right = run.left + run.length, run.right + run.length
            assert left[run.left : end_left] == right[run.right : end_right]
        assert sum(run.length for run in found) == longest_common_length(left, right)
