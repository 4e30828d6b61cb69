"""The kinds of rewards: an option's values, in a module that starts quickly."""

from enum import StrEnum


class RewardKind(StrEnum):
    """How a verdict becomes a reward."""

    RESOLVED = "resolved"  # 1 if the task is resolved, otherwise 0
    FIXED_SHARE = "fixed-share"  # the share of the tests to fix that pass
