"""Which lines two texts have in common.

This is the greedy algorithm of E. Myers, "An O(ND) Difference Algorithm and Its Variations"
(1986): it walks along the diagonals of the edit graph, one more edit at each round, and keeps how
far every diagonal was reached in every round to find the way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Match:
    """A run of lines that is the same in both texts."""

    left: int
    right: int
    length: int


def matches(left: Sequence[str], right: Sequence[str]) -> list[Match]:
    """The runs that a shortest edit leaves alone, in order."""
    prefix = _common_prefix(left, right)
    suffix = _common_prefix(left[prefix:][::-1], right[prefix:][::-1])
    middle_left = left[prefix : len(left) - suffix]
    middle_right = right[prefix : len(right) - suffix]
    pairs = [(i, i) for i in range(prefix)]
    pairs += [(i + prefix, j + prefix) for i, j in _myers(middle_left, middle_right)]
    pairs += [(len(left) - k, len(right) - k) for k in range(suffix, 0, -1)]
    return _runs(pairs)


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    length = 0
    for a, b in zip(left, right):
        if a != b:
            break
        length += 1
    return length


def _myers(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of equal lines on a shortest way through the edit graph."""
    reached = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(len(left) + len(right) + 1):
        rounds.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = _goes_down(reached, diagonal, edits)
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(left) and y < len(right) and left[x] == right[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(left) and y >= len(right):
                return _way_back(rounds, len(left), len(right))
    raise AssertionError("the last round always reaches the end")


def _goes_down(reached: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether the furthest way onto a diagonal is an insertion."""
    if diagonal == -edits:
        return True
    return diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]


def _way_back(rounds: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs = []
    for edits in range(len(rounds) - 1, -1, -1):
        reached = rounds[edits]
        diagonal = x - y
        before = diagonal + 1 if _goes_down(reached, diagonal, edits) else diagonal - 1
        from_x = reached[before]
        from_y = from_x - before
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]


def _runs(pairs: list[tuple[int, int]]) -> list[Match]:
    """Neighbouring pairs joined to runs."""
    runs: list[Match] = []
    for left, right in pairs:
        last = runs[-1] if runs else None
        if last and (left, right) == (last.left + last.length, last.right + last.length):
            runs[-1] = Match(last.left, last.right, last.length + 1)
        else:
            runs.append(Match(left, right, 1))
    return runs
