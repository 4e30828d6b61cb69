"""What came of one task's attempts, and how many tasks came out alike.

All that rates over several attempts per task need: a million attempts are a few such numbers.
"""

from collections.abc import Mapping
from typing import NamedTuple


class TaskScore(NamedTuple):
    """How many of the attempts at one task were resolved."""

    resolved: int
    attempts: int  # at least one

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.resolved / self.attempts


Scores = Mapping[TaskScore, int]
"""How many tasks have which score."""
