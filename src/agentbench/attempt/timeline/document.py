"""`timeline.json`: the states of an agent's work in order, and the tests that they pass."""

from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import NodeId

TIMELINE_FILE: Final = "timeline.json"
"""Its path in an attempt's folder."""
MAX_NOTED: Final = 400
"""The most states of an attempt; of more, every second one goes, so that the rest stays evenly
spread."""
MAX_BROKEN: Final = 50
"""The most broken tests that a judged state lists."""


class NotedState(Schema):
    """A state of the workspace, and when it was noted."""

    at: datetime
    """When it was noted, in UTC; for an agent with a model, when it sent a request."""
    state: str
    """A digest of the changed files; equal states have the same."""


class JudgedState(Schema):
    """The tests of one state, as a final test without blind runs has them."""

    state: str
    """The state."""
    resolved: bool
    """Whether all tests that decide have passed."""
    passed: tuple[NodeId, ...] = ()
    """The tests to fix that pass."""
    broke: tuple[NodeId, ...] = ()
    """The tests that passed before the agent's work and fail in this state, at most 50."""
    fault: str = ""
    """Why it could not be judged, in words."""

    @property
    def outcome(self) -> tuple[bool, frozenset[NodeId], frozenset[NodeId]]:
        """Equal for states between which nothing changed for the tests."""
        return self.resolved, frozenset(self.passed), frozenset(self.broke)


class Timeline(Schema):
    """The file `timeline.json`."""

    noted: tuple[NotedState, ...] = Field(default=(), max_length=MAX_NOTED)
    """The noted states in order; a state that is equal to the one before is left out."""
    judged: tuple[JudgedState, ...] = Field(default=(), max_length=MAX_NOTED)
    """The states that were judged, in the order of `noted`."""
    notes: tuple[str, ...] = ()
    """Remarks about states that are missing."""
    complete: bool = True
    """Whether all states that should be were judged; false: this was interrupted."""

    def judged_at(self, number: int) -> JudgedState | None:
        """The judgement of a noted state; of one that was not judged, what its neighbours have.

        All changes of the outcome are placed, unless there were more than could be judged: a state
        between two judged ones with the same outcome has that, too.
        """
        by_state = {each.state: each for each in self.judged}
        found = by_state.get(self.noted[number].state)
        if found is not None:
            return found
        before = (by_state.get(each.state) for each in reversed(self.noted[:number]))
        after = (by_state.get(each.state) for each in self.noted[number + 1 :])
        one, other = next(filter(None, before), None), next(filter(None, after), None)
        if one is None or other is None or one.outcome != other.outcome:
            return None
        return one

    @property
    def first_solved(self) -> int | None:
        """The number of the first noted state that passes all tests that decide."""
        for number in range(len(self.noted)):
            judged = self.judged_at(number)
            if judged is not None and judged.resolved:
                return number
        return None

    @property
    def lost_again(self) -> int | None:
        """The number of the first noted state after it that does not."""
        first = self.first_solved
        for number in range(first + 1, len(self.noted)) if first is not None else ():
            judged = self.judged_at(number)
            if judged is not None and not judged.resolved and not judged.fault:
                return number
        return None

    def broken_tests(self) -> tuple[NodeId, ...]:
        """The tests that passed before `lost_again` and fail there; empty: nothing was lost."""
        lost = self.lost_again
        judged = self.judged_at(lost) if lost is not None else None
        if lost is None or judged is None:
            return ()
        before = self.judged_at(lost - 1)
        passed = set(before.passed if before is not None else ())
        return (*judged.broke, *sorted(passed - set(judged.passed)))


def stored_timeline(folder: Path) -> Timeline | None:
    """The timeline in an attempt's folder; None: there is none, or it cannot be read."""
    try:
        return Timeline.model_validate_json((folder / TIMELINE_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
