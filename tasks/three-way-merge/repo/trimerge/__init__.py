"""Merges two versions of a text that have a common history."""

from trimerge.history import Commit, History, HistoryError, merge_commits
from trimerge.matching import Match, matches
from trimerge.merge import Conflict, Merge, merge3

__all__ = [
    "Commit",
    "Conflict",
    "History",
    "HistoryError",
    "Match",
    "Merge",
    "matches",
    "merge3",
    "merge_commits",
]
